# Tensors found with gc, as posts about memory do it; attributes that cannot be set.
import gc

import torch

x = torch.ones(7919, 3, requires_grad=True)
net = torch.nn.Linear(3, 7919)
y = (x * 2).exp()
found = []
for obj in gc.get_objects():
    try:
        if torch.is_tensor(obj) and 7919 in obj.size():
            found.append(f"{type(obj)} {obj.size()}")
    except Exception:
        pass
del obj
print(sorted(set(found)))


def told(f):
    try: f()
    except Exception as e: print(type(e).__name__, e)
def s(n,v=None): setattr(y,n,v)
for n in "grad_fn is_leaf shape dtype device ndim T output_nr retains_grad _version _base itemsize layout names nbytes is_cuda".split(): told(lambda: s(n))
def d(): y.shape=(3, 7919)
told(d)
print(torch.is_anomaly_check_nan_enabled())
