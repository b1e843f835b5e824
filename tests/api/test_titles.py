"""Classes carry the names by which PyTorch's users know them."""

from enum import EnumType

import pytest

from gradsh.api.torch import NAMESPACES


def classes():
    """Yield (path, class) of every class that a namespace offers."""
    for path, space in NAMESPACES.items():
        for name in space.names():
            found = space.get(name)
            if isinstance(found, type) and not issubclass(found, BaseException):
                yield f"{path}.{name}", found


def test_no_class_that_a_script_reaches_shows_a_place_of_gradsh():
    shown = {path: repr(kind) for path, kind in classes()}
    assert len(shown) > 150
    assert {path: text for path, text in shown.items() if "gradsh" in text} == {}


@pytest.mark.parity
def test_classes_are_named_as_pytorch_names_them():
    torch = pytest.importorskip("torch")
    wrong = {}
    for path, kind in classes():
        there = torch
        for part in path.split(".")[1:]:
            there = getattr(there, part, None)
        if isinstance(kind, EnumType) and not isinstance(there, EnumType):
            continue  # an enumeration that C++ makes shows as a class
        if isinstance(there, type) and not path.endswith(("._LRScheduler", "cuda.amp.GradScaler")) and repr(there) != repr(kind):
            wrong[path] = (repr(there), repr(kind))
    assert wrong == {}
