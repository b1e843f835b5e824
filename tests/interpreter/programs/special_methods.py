"""Attributes that a class answers for itself, slots, finalizers, dictionaries of attributes."""


class AttrDict(dict):
    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    def __setattr__(self, key, value):
        self[key] = value


class Config:
    def __init__(self, **options):
        self.__dict__.update(options)

    def __setattr__(self, name, value):
        if name.startswith("locked"):
            raise AttributeError(f"{name} is locked")
        super().__setattr__(name, value)


class Wrapper:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


class Handle:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("closed", self.name)


class Single:
    made = None

    def __new__(cls, *args):
        if cls.made is None:
            cls.made = super().__new__(cls)
        return cls.made

    def __init__(self, value):
        self.value = value


print(Single(1) is Single(2), Single(3).value)
settings = AttrDict(lr=0.1)
settings.epochs = 3
print(settings, settings.lr, hasattr(settings, "momentum"), isinstance(settings, dict))
config = Config(a=1, b=[2])
config.c = 4
config.__dict__["d"] = 5
print(config.d, vars(config), sorted(config.__dict__))
print(config.__dict__.pop("a"), hasattr(config, "a"))
try:
    config.locked = 1
except AttributeError as error:
    print(error)
print(Wrapper([3, 1]).index(1), Wrapper(config).b)
point = Point(1, 2)
try:
    point.z = 3
except AttributeError as error:
    print(error)
print(point.x, [name for name in dir(point) if not name.startswith("_")])
handle = Handle("first")
del handle
print("after", Ellipsis, ... is Ellipsis)


class Doubling:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)


class Plain:
    pass


class Echo:
    def __getattr__(self, name):
        return name + "!"


doubling, plain = Doubling(), Plain()
doubling.__setattr__("a", 2)
plain.__setattr__("b", 3)
print(doubling.a, plain.b, Echo().__getattr__("c"), Echo().d, hasattr(plain, "__getattr__"))
try:
    plain.__setattr__(3, 4)
except TypeError as error:
    print(error)
