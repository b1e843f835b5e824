from enum import Enum
from dataclasses import dataclass


class A(Enum):
    X=1
    Y=2


@dataclass
class P:
    x: int
    y: int = 0


class C:
    __match_args__ = ("a",)
    def __init__(self, a): self.a=a


def f(v):
    match v:
        case A.X: return "x"
        case 0 | 1 | -1: return "small"
        case int(n) if n > 100: return f"big {n}"
        case str() as s: return "str " + s
        case None: return "none"
        case True: return "true"
        case [1, *rest]: return f"one {rest}"
        case (a, b): return f"pair {a} {b}"
        case {"k": val, **rest}: return f"map {val} {rest}"
        case P(0, y=yy) | P(yy, y=0): return f"P {yy}"
        case C(q): return f"C {q}"
        case _: return "other"


for v in [A.X, A.Y, 0, 1, -1, 500, 50, "a", None, True, [1,2,3], (5,6), {"k":1,"z":2}, P(0,3), P(4), C(9), 2.5, [1], []]:
    print(f(v))
match = 3
match (1, 2):
    case 1, 2:
        print("tuple", match)
case = 1
print(match, case)
