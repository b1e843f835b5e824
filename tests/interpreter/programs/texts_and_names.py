"""Enumerations of texts, bytes, digests, chained maps, functions by class, temporary names."""

import errno
import hashlib
import os
import tempfile
import unicodedata
from collections import ChainMap
from difflib import SequenceMatcher, get_close_matches, unified_diff
from enum import Enum, StrEnum
from functools import lru_cache, singledispatch
from typing import Dict, List, Literal, Optional, Union, get_args, get_origin

import numpy as np


class Phase(str, Enum):
    TRAIN = "train"
    VALID = "valid"

    def __str__(self):
        return self.value.upper()

    def folder(self):
        return f"{self.value}/{self.name}"


class Color(StrEnum):
    RED = "red"


print(Phase("valid"), Phase.TRAIN == "train", repr(Phase.TRAIN), Phase.TRAIN.folder(), type(Phase.TRAIN.value), {"train": 1}[Phase.TRAIN])
print("a" + Phase.TRAIN, Phase.VALID.upper(), "x".join(Phase), isinstance(Color.RED, str), f"{Color.RED:>5}", [one.name for one in Color])
print(b"ab" + b"\x00\n", b"a" b"b", rb"\d", "x".encode() == b"x", list(b"ab"), hashlib.md5(b"config").hexdigest(), hashlib.sha256("é".encode()).hexdigest()[:8])
print("".join(c for c in unicodedata.normalize("NFD", "là né") if unicodedata.category(c) != "Mn"))
settings = ChainMap({"epochs": 8}, {"epochs": 1, "lr": 0.1})
print(settings["epochs"], settings["lr"], dict(settings), settings.new_child({"lr": 2})["lr"])


@singledispatch
def describe(value):
    return f"object {value!r}"


@describe.register(int)
def describe_int(value):
    return f"int {value}"


class Shape:
    class Round:
        pass


@describe.register
def _(value: list) -> str:
    return f"list of {len(value)}"


@describe.register
def _(value: "Shape.Round", times: int = 2):
    return "round"


print(describe([1, 2]), describe(Shape.Round()), describe(Shape()).startswith("object"), describe.dispatch(bool) is describe_int)
print(get_close_matches("appel", ["ape", "apple", "peach"]), SequenceMatcher(None, "abcd", "bcde").ratio(), errno.errorcode[errno.ENOENT])
print(*unified_diff(["a", "b"], ["a", "c"], lineterm=""), sep="\n")
for hint in (List[int], Dict[str, int], Optional[int], Union[int, str], Literal["a"], List, int):
    print(get_args(hint), get_origin(hint))


@lru_cache(maxsize=None)
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


print(describe(True), describe("x"), [binomial(5, k) for k in range(6)], binomial.cache_info().hits)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    print(os.path.basename(path), os.path.exists(path), folder.startswith(tempfile.gettempdir()))
print([values.dtype.name for values in (np.arange(3), np.zeros(2), np.zeros(1, dtype="f4"))])
