import torch, copy
torch.manual_seed(0)
x=torch.arange(6.); y=x[2:4]; z=x.view(2,3)
a,b,c=copy.deepcopy((x,y,z)); a[2]=9; print(b,c, a._version,b._version, b.storage_offset(), b.untyped_storage().nbytes(), b._base is None, c.stride())
d=copy.deepcopy({'p':torch.nn.Parameter(x), 'x':x}); d['p'].data[0]=5; print(d['x'][0], d['p'].is_leaf)
l=torch.nn.Linear(2,2); m=torch.nn.Linear(2,2); m.weight=torch.nn.Parameter(l.weight.data); s=torch.nn.ModuleList([l,m]); t=copy.deepcopy(s); t[0].weight.data[0]=7; print(t[1].weight[0], s[1].weight[0][0]!=7)
e=copy.deepcopy(y); print(e.storage_offset(), e.untyped_storage().nbytes(), e.is_contiguous()); f=copy.deepcopy(x.view(2,3).t()); print(f.stride(), f)
w=torch.ones(3,requires_grad=True); (w*2).sum().backward(); v=copy.deepcopy(w); print(v.grad, v.grad is w.grad, v._version)
print(copy.deepcopy(x.expand(2,6)).stride(), copy.deepcopy(torch.zeros(0,3)).shape)
