import torch
A = torch.zeros(4, 4)
for i in range(4):
    for j in range(i):
        A[i, j] = 1.0
A[0, 0] = 5
A[-1, -1] = 2.7
A[1, 2] = True
print(A, A._version)
b = torch.zeros(3, dtype=torch.int64)
b[0] = 2.7
b[1] = True
b[-1] = -4
print(b, b._version)
c = torch.zeros(2, 2, dtype=torch.bool)
c[0, 1] = 3
e = torch.zeros(1, 3).expand(2, 3)
e[0, 1] = 4.0
h = torch.zeros(3, dtype=torch.float16)
h[1] = 0.1
g = torch.zeros(3, dtype=torch.bfloat16)
g[1] = 0.1
print(c, e, h, g)
A[8, 0] = 1.0
A[0, -9] = 1.0
w = torch.ones(2, requires_grad=True)
w[0] = 3.0
y = w * 2
y[0] = 3.0
y.sum().backward()
print(y, w.grad)
with torch.no_grad():
    w[0] = 7.0
d = w.detach()
d[1] = 9.0
print(w, w._version, d._version)
z = w * w
d[1] = 1.0
z.sum().backward()
with torch.inference_mode():
    q = torch.zeros(2)
    q[0] = 1.0
q[1] = 2.0
s = torch.tensor(3.0)
s[0] = 1.0
s[()] = 2.0
print(s, s._version)
dtypes = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool)
for dtype in dtypes:
    for value in (float("nan"), float("inf"), 1e40, 300, -1, -300, 2**40, 2**70, 70000.0, 2.5, -0.5, 3e38, 3.5e38):
        x = torch.zeros(2, dtype=dtype)
        try:
            x[0] = value
            print(dtype, value, x)
        except (RuntimeError, ValueError) as error:
            print(dtype, value, error)
