"""Programs without tensors, by what of the language they use."""

PROGRAMS = {
    "scopes": """
x = 1
def outer():
    x = 2
    def inner():
        nonlocal x
        x += 1
        return x
    def other():
        global x
        x = 10
    other()
    return inner(), x
print(outer(), x)
print([x for x in range(3)], x)
print((lambda x, y=x: x + y)(1))
class A:
    x = x + 1
    y = [x for _ in range(2)]
print(A.x, A.y)
def late(): return undefined
late()
""",
    "arguments": """
def f(a, /, b, *args, c=3, d, **rest): return a, b, args, c, d, rest
print(f(1, 2, d=4), f(1, 2, 3, 4, d=5, e=6), f(1, *[2, 3], **{"d": 4}))
f(1, 2)
f()
f(1, 2, d=1, a=3)
f(1, d=2, b=3, **{"b": 4})
def g(a=[]):
    a.append(1)
    return a
print(g(), g())
""",
    "exceptions": """
def f(n):
    try:
        if n == 0: raise ValueError("zero")
        if n == 1: return "one"
        if n == 2: 1 / 0
        return "other"
    except ValueError as e:
        return f"caught {e}"
    else:
        print("else")
    finally:
        print("finally", n)
for n in range(4):
    try:
        print(f(n))
    except ArithmeticError as e:
        print(type(e).__name__, e)
try:
    try:
        {}["k"]
    except KeyError as e:
        raise RuntimeError("outer") from e
except RuntimeError as e:
    print(e, repr(e.__cause__))
print(e)
class Mine(Exception):
    def __init__(self, v):
        super().__init__(v)
        self.v = v
try:
    raise Mine(3)
except Mine as e:
    print(e.v, e.args)
raise Mine(4)
assert 1 == 2, "no"
assert True
try:
    raise
except RuntimeError as e:
    print(e)
""",
    "loops": """
for i in range(5):
    if i == 1: continue
    if i == 3: break
    print(i)
else:
    print("never")
for i in []: pass
else: print("empty")
n = 0
while n < 3:
    n += 1
    for j in range(3):
        if j == n: break
    else:
        print("all", n)
else:
    print("done")
def find(xs, y):
    for i, x in enumerate(xs):
        for z in x:
            if z == y: return i
print(find([[1], [2, 3]], 3), find([], 1))
for a, (b, *c), d in [(1, (2, 3, 4), 5), (1, "xy", 2)]: print(a, b, c, d)
for x in 3: pass
for k, v in {"a": 1}.items(): print(k, v)
while True:
    try:
        break
    finally:
        print("left")
""",
    "generators": """
def g(n):
    for i in range(n):
        got = yield i
        if got: print("got", got)
    return "end"
def h():
    r = yield from g(2)
    print(r)
    yield "last"
print(list(h()))
it = g(3)
print(next(it), it.send("x"), next(it))
next(it)
it.close()
def outer():
    for i in range(2):
        for j in inner(i): yield j
def inner(k):
    try:
        yield k
        yield k + 10
    finally: print("closed", k)
for x in outer():
    print(x)
    if x == 1: break
print(sum(x * x for x in range(4)), max((y for y in [3, 1]), default=0))
print(dict(zip("ab", g(2))), sorted({3, 1, 2}, reverse=True))
def t():
    try: yield 1
    except ValueError as e: yield str(e)
u = t(); next(u); print(u.throw(ValueError("thrown")))
next(g(0))
""",
    "classes": """
class Base:
    "A base."
    count = 0
    def __init__(self, v): self.v = v; Base.count += 1
    def __repr__(self): return f"{type(self).__name__}({self.v})"
    def __add__(self, o): return type(self)(self.v + getattr(o, "v", o))
    __radd__ = __add__
    def __eq__(self, o): return self.v == o.v
    def __hash__(self): return hash(self.v)
    def __lt__(self, o): return self.v < o.v
    def __len__(self): return self.v
    def __getitem__(self, i):
        if i >= self.v: raise IndexError(i)
        return i * 10
    def __setitem__(self, i, x): print("set", i, x)
    def __contains__(self, x): return x == 1
    def __call__(self, *a): return a
    def __bool__(self): return self.v > 0
    def __enter__(self): print("in"); return self
    def __exit__(self, t, e, tb): print("out", t.__name__ if t else None); return t is ValueError
    @property
    def double(self): return self.v * 2
    @double.setter
    def double(self, x): self.v = x // 2
    @staticmethod
    def s(x): return x
    @classmethod
    def make(cls): return cls(5)
    def _p(self): return self.__q()
    def __q(self): return "q"
class Derived(Base):
    def __init__(self, v):
        super().__init__(v)
        super(Derived, self).__init__(v + 1)
    def _p(self): return "derived " + super()._p()
a, b = Base(1), Derived(2)
print(a, b, a + b, 1 + a, a == a, a < b, len(b), b[1], list(b), 1 in a, a(1, 2), bool(Base(0)))
b[0] = 3
b.double = 8
print(b.double, b.v, Base.s(4), Derived.make(), Base.count, b._p(), Base.__doc__, a.__class__ is Base)
with a as z: print(z)
with b: raise ValueError("x")
with b: raise KeyError("x")
a.nope
a.double = "x"
Base.nope
b.__q()
b[7]
print(isinstance(b, Base), issubclass(Derived, Base), hasattr(a, "v"), hasattr(a, "w"), getattr(a, "w", 3))
del a.v
print(a.v)
setattr(a, "w", 1)
print(a.w, sorted([Base(3), Base(1)]), {a: 1}[a])
class Outer:
    class Inner:
        k = 1
    def m(self):
        class Local(Outer.Inner): pass
        return Local().k
print(Outer().m(), Outer.Inner.__name__)
x.y = 3
""",
    "operators": """
print(1 < 2 < 3, 1 < 3 < 2, 1 == 1.0 is True, not 0, 3 and 0 or 5, 7 // 2, -7 // 2, -7 % 3, 2 ** -1, 2 ** 10, ~5, 5 ^ 3, 1 << 4)
a = [1, 2]; b = a; b += [3]; print(a, a is b)
a = (1,); b = a; b += (2,); print(a, b)
d = {"x": 1}; d["x"] *= 5; d["x"] **= 2; d["x"] <<= 1; print(d)
i = 0
def idx():
    global i
    i += 1
    return 0
l = [1]; l[idx()] += 5; print(l, i)
s = "a"; s *= 3; print(s)
n = 7; n **= 2; n <<= 1; n *= 2; n @= 3
print(n, [0] * 3, 3 * "ab", (1, 2) * 2)
1 + "a"
"a" * "b"
[1] - [2]
-"x"
1 < "a"
x, *y, z = range(5); print(x, y, z)
[p, q], r = (1, 2), 3; print(p, q, r)
x, y = 1
(x, y) = 1, 2, 3
print(x if y else z, (lambda: 1)(), [*range(2), *"ab"], {**{"a": 1}, "b": 2}, {1, 2} | {3})
if (m := 10) > 5: print(m)
print([w := 1, w + 1], [last := v for v in range(3)], last)
print("abc"[::-1], [1, 2, 3][-2:], [1, 2, 3][5:], "x"[3:])
[][0]
{}[1]
print(10 ** 20 * 10 ** 20, 0.1 + 0.2, 1e400, -0.0, 1_000)
print(divmod(7, 3), pow(2, 3), pow(2, 3, 5), abs(-3), round(2.5), round(2.567, 2))
""",
    "strings": """
x, w, name = 3.14159, 10, "n"
print(f"{x:.2f}|{x:>{w}.1f}|{name!r}|{name=}|{x!s:>8}|{{}}|{'a' 'b'}|{w:05d}|{x:{'>'}{w}}")
print("{} {1}".format(1, 2) if False else "{} {}".format(1, 2), "{a}{b[0]}".format(a=1, b=[2]), "%s-%d-%5.2f" % ("a", 3, x))
print("a,b".split(","), " x ".strip(), "abc".upper().lower().title(), "-".join(map(str, range(3))), "abc".find("c"), "x".center(5, "*"))
print("{:>5}|{:<5}|{:^5}".format(1, 2, 3), "abc".replace("a", "z"), "A".isupper(), ord("a"), chr(98), repr("q'"))
"{} {}".format(1)
"{a}".format()
"{0.nope}".format(1)
"{:d}".format("x")
f"{1:s}"
"abc".nope()
"%d" % "x"
int("x")
float("nan") == float("nan")
print(int("12"), float("1e3"), str(1.0), bool(""), list("ab"), tuple([1]), set([1, 1]), dict(a=1))
print("é", "日本", len("日本"), "日本"[1]); 日 = 1; print(日)
"é" + undefined_é
""",
    "containers": """
l = [3, 1, 2]
l.sort(); l.append(4); l.insert(0, 9); print(l, l.pop(), l.index(2), l.count(1), l[::2])
l.remove(100)
del l[0], l[-1]
print(l)
d = dict(a=1); d.update(b=2); d.setdefault("c", []).append(1); print(d, d.get("z"), d.pop("a"), list(d.items()), "b" in d)
print({k: v for k, v in zip("ab", range(2))}, {x % 3 for x in range(9)}, [(i, j) for i in range(3) if i for j in range(i)])
print([[j for j in range(i)] for i in range(3)], list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1])))
print(list(enumerate("ab", 1)), list(reversed([1, 2])), any([0, 1]), all([]), sum([1, 2], 10), min(3, 1), max([1, 5]), min("ab", key=ord))
import itertools, functools, collections, math, copy
print(list(itertools.islice(itertools.count(3, 2), 3)), list(itertools.chain([1], [2])), list(itertools.product("ab", repeat=2))[:2])
print(functools.reduce(lambda a, b: a * b, [1, 2, 3]), functools.partial(max, 3)(1), collections.OrderedDict(a=1)["a"])
dd = collections.defaultdict(list); dd["x"].append(1); print(dict(dd), math.pi, copy.deepcopy([[1]]), collections.deque([1, 2]).popleft())
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(50))
max([])
next(iter([]))
list(3)
dict([1])
zip(1)
sorted([1, "a"])
""",
    "decorators": """
def twice(f):
    def g(*a, **k):
        return f(*a, **k), f(*a, **k)
    return g
def times(n):
    def deco(f):
        def g(*a): return [f(*a) for _ in range(n)]
        return g
    return deco
@times(2)
@twice
def f(x): return x + 1
print(f(1))
def rec(n): return 1 if n <= 1 else n * rec(n - 1)
print(rec(20), rec(300) > 0)
def deep(n): return deep(n + 1)
f.attr = 1
print(f.attr, f.__name__)
def documented():
    "text"
def annotated(a: int, b: "str" = 1) -> float:
    c: int = 3
    d: int
    return a + c
print(documented.__doc__, annotated(1))
def unbound():
    print(v)
    v = 1
unbound()
if __name__ == "__main__":
    print("main")
x: int = 5
y: int
print(x)
print(y)
print(sep="", *"abc")
print("a", end=""); print("b", "c", sep="-")
""",
}
