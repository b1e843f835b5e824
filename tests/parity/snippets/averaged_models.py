"""Averaged models, their learning rates, and mistakes with them."""

import torch
from torch import nn
from torch.optim import swa_utils
from torch.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn, get_ema_avg_fn, update_bn
torch.manual_seed(0)
def main():
    m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    a, b = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(.9), use_buffers=True), AveragedModel(m, avg_fn=get_ema_avg_fn(.5))
    opt = torch.optim.SGD([{"params": m[0].parameters()}, {"params": m[1].parameters(), "lr": .5}], lr=.1)
    s = SWALR(opt, [.01, .02], anneal_epochs=3, anneal_strategy="linear")
    for i in range(5):
        m(torch.randn(4, 2)).tanh().sum().backward(); opt.step(); opt.zero_grad(); a.update_parameters(m); b.update_parameters(m); s.step()
        print(s.get_last_lr())
    z = SWALR(opt, .3, anneal_epochs=0); print(z.get_last_lr()); opt.step(); z.step(); print(z.get_last_lr())
    for x in (a, b): print(x, x.state_dict())
    update_bn([torch.randn(4, 2), torch.randn(4, 2)], b); print(b.module[1].running_mean, b.module[1].momentum, b.training)
    for bad in (lambda: SWALR(opt, [.1]), lambda: SWALR(opt, .1, anneal_strategy="x"), lambda: SWALR(opt, .1, -1), lambda: SWALR(m, .1), lambda: get_ema_avg_fn(2.), lambda: AveragedModel(m, avg_fn=print, multi_avg_fn=print)):
        try: bad()
        except Exception as e: print(type(e).__name__, e)
    print(AveragedModel, SWALR)
main()
