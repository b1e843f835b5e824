"""Loggers with handlers, tables of csv, descriptors, and classes that hear of their subclasses."""

import csv
import io
import logging
import sys

buffer = io.StringIO()
writer = csv.DictWriter(buffer, fieldnames=["epoch", "note"])
writer.writeheader()
writer.writerow({"epoch": 1, "note": "x,y"})
print(buffer.getvalue().splitlines())
for row in csv.reader(["1,2", "3,4"]):
    print(row)
for row in csv.DictReader(io.StringIO("a,b\n1,2\n")):
    print(row["a"], row)

log = logging.getLogger("train")
log.setLevel(logging.DEBUG)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(levelname)-8s|%(name)7s| %(message)s"))
log.addHandler(handler)
log.addHandler(handler)
log.debug("step %d of %.2f", 3, 2.5)
log.info("%(epoch)d of %(all)s", {"epoch": 1, "all": 9})
log.propagate = False
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="{levelname} {message}", style="{")
logging.basicConfig(level=logging.DEBUG)
logging.info("hello %s", "you")
logging.debug("not written")
logging.getLogger("other").error("bad")
log.info("once")
print(log.handlers == [handler], len(logging.getLogger().handlers), logging.getLevelName(30))


class Positive:
    def __set_name__(self, owner, name):
        self.name = name + "_value"

    def __get__(self, obj, kind=None):
        return self if obj is None else getattr(obj, self.name)

    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name} must be positive")
        setattr(obj, self.name, value)


class Config:
    lr = Positive()

    def __init__(self, lr):
        self.lr = lr


config = Config(0.1)
print(config.lr, config.lr_value, Config.lr is Config.lr)
try:
    config.lr = -1
except ValueError as error:
    print(error)


class Plugin:
    registry = {}

    def __init_subclass__(cls, key=None, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[key or cls.__name__.lower()] = cls


class First(Plugin):
    pass


class Second(First, key="2nd"):
    pass


print(sorted(Plugin.registry), Plugin.registry["2nd"] is Second)
