import torch
torch.manual_seed(0)
torch.set_default_dtype(torch.float16)
x=torch.randn(3,requires_grad=True); l=torch.nn.Linear(3,2); print(l(x).dtype, l.weight.dtype); l(x).sum().backward(); print(x.grad.dtype); print(torch.arange(0,1,0.25), torch.tensor([1.5]), torch.zeros(1)/3, torch.tensor(3)/2, torch.get_default_dtype())
print(torch.eye(2), torch.rand(2).dtype, torch.linspace(0,1,3), torch.full((2,),0.1), torch.bernoulli(torch.full((3,),0.5)).dtype, torch.mean(torch.ones(2)).dtype, torch.softmax(torch.tensor([1,2]).to(torch.get_default_dtype()),0))
torch.set_default_dtype(torch.float32)
for dt in (torch.float16, torch.bfloat16):
    torch.set_default_dtype(dt)
    i=torch.tensor([1,2,3])
    for r in (i/2, i.sqrt(), i.exp(), i.sigmoid(), torch.true_divide(i,3), i*0.3, i+0.1, torch.tensor([True]).float(), i.float().mean(), torch.cat([i,i])/7, torch.atan2(i,i), i**0.5, torch.where(i>1,0.1,0.2), torch.clamp(i,0.5), torch.std(i.to(dt)), torch.tensor(2).log(), i.mean(dtype=dt), torch.nn.functional.softmax(i.to(dt),0), torch.rand(()).dtype, torch.lerp(torch.ones(2),torch.zeros(2),0.1), i.div(2,rounding_mode='floor')): print(r)
torch.set_default_dtype(torch.float32)
