import inspect
import numpy as np
import torch
a = np.arange(6, dtype=np.int32)
print(a.tobytes(), np.frombuffer(a.tobytes(), dtype=np.int32), np.fromiter((i * i for i in range(4)), dtype=float), np.fromiter(range(4), np.int64, 2))
print(bytearray(b"abc"), bytearray(3), bytes(3), bytes("é", "utf8"), bytes.fromhex("ff00"), bytes([1, 2]), bytes(a)[:5])
print(type(b"") is bytes, isinstance(bytearray(), bytearray), bytes, type(bytearray(2)), bytearray(2) * 3, b"a" + bytearray(b"b"))
held = bytearray(b"abc")
held += b"d"
held.extend(b"ef")
del held[0]
held[0:1] = b"zz"
print(held, b"z" in held, list(held), held.hex(), torch.frombuffer(held, dtype=torch.uint8))
bytes([1, 2, 300])
bytes(-1)
bytes("a")
class A:
    def __class_getitem__(cls, item):
        return cls.__name__, item
class B(A):
    pass
print(A[int], A["x", 2], B[str])
class C(A):
    def __init__(self):
        super(C).__init__()
        self.made = True
print(C().made)
super(C).nothing
class Rows(torch.utils.data.Dataset):
    def __init__(self, a, b):
        self.__dict__.update(a=a, b=b)
        self.c = 3
    def __len__(self):
        return 1
rows = Rows(1, 2)
print(rows.__dict__, vars(rows), rows.b)
def f(a: int, b="x", *c, d: float = 2.0, **e) -> float:
    return 1
def g(a) -> "torch.Tensor":
    return a
print(inspect.signature(f), inspect.signature(f).return_annotation is inspect.Parameter.empty)
x = torch.ones(2, requires_grad=True)
print(x.size, x.dim, x.item, x.numel, x.requires_grad_, x.detach, x.sum, x.data_ptr)
print(x.backward, x.register_hook)
