import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(s): super().__init__(); s.c=nn.Conv2d(1,4,3,padding=1); s.bn=nn.BatchNorm2d(4); s.f=nn.Linear(4*16,3)
    def body(s,x): 
        h=F.relu(s.bn(s.c(x))); print(h.dtype, torch.is_autocast_enabled('cpu')); return h
    def forward(s,x,re): 
        h=checkpoint(s.body,x,use_reentrant=re); return s.f(h.flatten(1))
n=Net(); x=torch.randn(5,1,4,4,requires_grad=True); y=torch.tensor([0,1,2,0,1])
for re in (False,True):
    n.zero_grad()
    with torch.autocast('cpu',dtype=torch.bfloat16): o=n(x,re); l=F.cross_entropy(o,y)
    l.backward(); print(o.dtype, round(l.item(), 4), n.c.weight.grad.dtype, round(n.c.weight.grad.norm().item(), 3))
m=nn.Sequential(nn.Conv2d(1,2,3),nn.BatchNorm2d(2),nn.ReLU(),nn.AdaptiveAvgPool2d(1),nn.Flatten(),nn.Linear(2,2)).half().eval()
with torch.no_grad(): print(m(torch.randn(2,1,5,5).half()))
with torch.inference_mode(), torch.autocast('cpu'): print(n.f(torch.ones(1,64)).dtype)
with torch.autocast('cpu'):
    g=torch.autograd.grad(n.f(torch.ones(1,64)).sum(), n.f.weight, create_graph=True)[0]; print(g.dtype)
    def f(w): return (torch.ones(1,2)@w).sum()
    print(torch.func.grad(f)(torch.ones(2,2)).dtype, torch.vmap(lambda a: a@a)(torch.ones(2,3,3)).dtype)
    h=torch.utils.checkpoint.checkpoint(lambda a: a@a, torch.ones(2,2,requires_grad=True), use_reentrant=False); print(h.dtype); h.sum().backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (print('pack',t.dtype),t)[1], lambda t: t): z=torch.ones(2,2,requires_grad=True); (z@z).sum().backward(); print(z.grad)
    with torch.no_grad(): print((x[0,0]@x[0,0]).dtype)
@torch.no_grad()
@torch.autocast('cpu')
def ev(a): return a@a
print(ev(torch.ones(2,2)).dtype, torch.is_autocast_enabled('cpu'))
try:
    with torch.autocast('cpu'): raise ValueError('x')
except ValueError: print(torch.is_autocast_enabled('cpu'))
ema=torch.optim.swa_utils.AveragedModel(nn.Linear(2,2).bfloat16()); ema.update_parameters(nn.Linear(2,2).bfloat16()); print(ema.module.weight.dtype)
torch.set_autocast_enabled('cpu',True); print((x[0,0]@x[0,0]).dtype); torch.set_autocast_enabled('cpu',False); print((x[0,0]@x[0,0]).dtype)
