import torch
x=torch.randn(2,3,2,2).contiguous(memory_format=torch.channels_last)
v=x.expand(2,*x.shape)
for k in (0,1,2,3):
    print(k, v.rot90(k).stride(), v.rot90(k,(1,2)).stride(), v.rot90(k,(3,4)).stride())
print(v.flip(0).stride(), v.flip(1,2).stride(), v.clone().stride(), x.rot90().stride(), x.flip(0).stride())
w=torch.randn(3,1).expand(3,4)
print(w.rot90().stride(), w.flip(0).stride(), w.rot90(2).stride())
