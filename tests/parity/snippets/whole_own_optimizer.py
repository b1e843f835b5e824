import math
from torch.optim.optimizer import Optimizer
from torch.optim.lr_scheduler import _LRScheduler
import torch


class SimpleAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
        super(SimpleAdam, self).__init__(params, defaults)

    def __setstate__(self, state):
        super(SimpleAdam, self).__setstate__(state)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                grad = p.grad
                if grad.is_sparse:
                    raise RuntimeError('sparse gradients not supported')
                state = self.state[p]
                if len(state) == 0:
                    state['step'] = 0
                    state['exp_avg'] = torch.zeros_like(p, memory_format=torch.preserve_format)
                    state['exp_avg_sq'] = torch.zeros_like(p.data)
                exp_avg, exp_avg_sq = state['exp_avg'], state['exp_avg_sq']
                beta1, beta2 = group['betas']
                state['step'] += 1
                if group['weight_decay'] != 0:
                    grad = grad.add(p, alpha=group['weight_decay'])
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                bc1 = 1 - beta1 ** state['step']
                bc2 = 1 - beta2 ** state['step']
                denom = (exp_avg_sq.sqrt() / math.sqrt(bc2)).add_(group['eps'])
                p.addcdiv_(exp_avg, denom, value=-group['lr'] / bc1)
        return loss


class WarmupCosine(_LRScheduler):
    def __init__(self, optimizer, warmup, total, last_epoch=-1):
        self.warmup, self.total = warmup, total
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch < self.warmup:
            return [base * (self.last_epoch + 1) / self.warmup for base in self.base_lrs]
        t = (self.last_epoch - self.warmup) / (self.total - self.warmup)
        return [base * 0.5 * (1 + math.cos(math.pi * t)) for base in self.base_lrs]


torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = SimpleAdam(m.parameters(), lr=0.1, weight_decay=1e-2)
sch = WarmupCosine(opt, 3, 10)
x, y = torch.randn(16, 3), torch.randn(16, 1)
for i in range(8):
    def closure():
        opt.zero_grad()
        l = (m(x) - y).pow(2).mean()
        l.backward()
        return l
    l = opt.step(closure)
    sch.step()
    print(i, "%.5f" % l.item(), ["%.4f" % v for v in sch.get_last_lr()])
sd = opt.state_dict()
print(sorted(sd.keys()), sd['param_groups'][0]['lr'] == opt.param_groups[0]['lr'])
opt2 = SimpleAdam(m.parameters())
opt2.load_state_dict(sd)
print(len(opt2.state), opt)
