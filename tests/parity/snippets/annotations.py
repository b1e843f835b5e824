import torch
from typing import List
def a(x: List[Missing]): return x
def b(x, *rest: Missing, k: int = 3) -> List[int]: return x
def c(x) -> Missing: return x
def d(x: "Missing"): v: Missing = 1; return v
w: Missing = 2
class Node:
    def add(self, other: Node): pass
class Kept:
    size: Missing = 1
class Named:
    def add(self, other: "Named") -> List["Named"]: return [other]
print(d(1), w, Named().add(2))
