import torch
def risky(n):
    if n < 0:
        raise ValueError("n must be >= 0, got %d" % n)
    return torch.ones(n)
for n in (1, -1):
    try:
        print(risky(n))
    except ValueError as e:
        print("error:", e)
    else:
        print("fine")
    finally:
        print("done", n)
try:
    1 / 0
except ZeroDivisionError as e:
    print(e)
try:
    {}['a']
except KeyError as e:
    print(repr(e), e)
try:
    [][0]
except IndexError as e:
    print(e)
try:
    undefined
except NameError as e:
    print(e)
try:
    torch.nope
except AttributeError as e:
    print(e)
try:
    torch.ones(2).nope
except AttributeError as e:
    print(e)
try:
    torch.ones(2) + "a"
except TypeError as e:
    print(e)
try:
    torch.ones("a")
except TypeError as e:
    print(e)
raise RuntimeError("final")
