"""What stands at the head of posted scripts and in their helpers: paths, encoders, redirected output, kinds of functions."""

import contextlib
import gzip
import io
import json
import logging
import logging.handlers
import numbers
import operator
import os
import sys
import timeit
import types
from pathlib import Path

sys.path.append("..")
sys.path.insert(0, os.path.join(os.path.dirname("a/b.py"), "lib"))
print(len(sys.path) > 1, sys.version_info >= (3, 6), sys.version_info.major, sys.version_info[0], sys.float_info.epsilon)
print(os.path.relpath("/a/b", "/a"), os.path.commonpath(["/a/b", "/a/c"]), os.path.splitdrive("a"), os.pardir)
path = Path("runs") / "a.tar.txt"
print(path.suffixes, path.with_stem("q"), list(path.parents), path.relative_to("runs"), path.is_relative_to("x"), path.match("*.txt"))


class Encoder(json.JSONEncoder):
    def default(self, o):
        return sorted(o) if isinstance(o, set) else super().default(o)


print(json.dumps({"a": {3, 1}}, cls=Encoder), json.loads("[1.5, 2]", parse_float=str))
try:
    json.dumps(object, cls=Encoder)
except TypeError as error:
    print(error)

held = io.StringIO()
with contextlib.redirect_stdout(held):
    print("inside")
print(repr(held.getvalue()))


def function():
    return 1


print(type(function) is types.FunctionType, isinstance(function, types.FunctionType), isinstance(len, types.FunctionType))
print(operator.methodcaller("replace", "a", "b")("cat"), operator.countOf([1, 1, 2], 1), operator.index(3))
print(isinstance(1.5, numbers.Number), isinstance("1", numbers.Number), timeit.timeit(function, number=2) > 0)
try:
    function.missing
except AttributeError:
    print(sys.exc_info()[0].__name__, sys.exc_info()[1])
logging.disable(logging.CRITICAL)
logging.getLogger("quiet").error("not shown")
try:
    gzip.open("data/names.csv.gz", "rt")
except FileNotFoundError as error:
    print(error)
