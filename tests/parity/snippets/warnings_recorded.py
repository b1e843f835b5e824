import warnings
import torch

def pack(x):
    warnings.warn("pack")
    return x

def direct():
    warnings.warn("direct", DeprecationWarning)

with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    direct()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        a = torch.ones(5, requires_grad=True)
        y = a * a
    h = a * 2
    print(h.grad)
    print(len(w), [(one.category.__name__, str(one.message)[:20], one.lineno) for one in w])
    print(w[0].category is DeprecationWarning, isinstance(w[0].message, DeprecationWarning))
warnings.filterwarnings("ignore")
direct()
with warnings.catch_warnings():
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", message="pa", category=UserWarning)
    pack(a)
    try:
        direct()
    except DeprecationWarning as caught:
        print("raised", caught)
warnings.resetwarnings()
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    warnings.simplefilter("error", category=RuntimeWarning)
    warnings.warn(UserWarning("given"))
    print(len(w), w[-1].message)
    try:
        warnings.warn("worse", RuntimeWarning)
    except RuntimeWarning as caught:
        print(repr(caught))
warnings.warn("x", int)
