import copy


class Dotted(dict):
    """Attributes that are items."""

    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


d = Dotted({"a": 1})
print(d.a, d.b)
d.c = 3
del d.a
print(d, d["c"], d.get("zz"), d.keys(), copy.deepcopy(d), hasattr(d, "q"))


class Strict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


s = Strict(x=1)
s.y = 2
print(s.x, s)
s.nope


class Aliased(dict):
    def __init__(self, *args, **kwargs):
        super(Aliased, self).__init__(*args, **kwargs)
        self.__dict__ = self


a = Aliased(x=1, y=2)
a.z = 5
a["w"] = 7
print(a.x, a, a["z"], a.w, vars(a), a.__dict__ is a)
del a.x
print(a, "x" in a, hasattr(a, "x"), getattr(a, "x", 3))
a.nope
del a.nope


class Below(Aliased):
    def total(self):
        return sum(self.values())


b = Below(p=1, q=2)
b.r = 3
print(b.total(), b, b.copy())


class Told:
    def __delattr__(self, name):
        print("without", name)
        super().__delattr__(name)


t = Told()
t.x = 1
del t.x
print(vars(t))
t.__setattr__("y", 2)
t.__delattr__("y")
print(vars(t))
