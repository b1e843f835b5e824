"""The project's NamedTuple does what typing's does."""

import copy
import pickle
import typing

import pytest

from gradsh.text import tuples


class Ours(tuples.NamedTuple):
    """A class as the project writes them."""

    line: int
    text: str
    """What stands there."""
    marks: tuple[int, ...] = ()
    deep: "Ours | None" = None

    @property
    def long(self) -> bool:
        return len(self.text) > 3


class Theirs(typing.NamedTuple):
    """The same, by typing."""

    line: int
    text: str
    marks: tuple[int, ...] = ()
    deep: "Theirs | None" = None

    @property
    def long(self) -> bool:
        return len(self.text) > 3


class Empty(tuples.NamedTuple):
    """No field at all."""


class Below(Ours):
    """A class below one with fields."""


def outcome(made):
    try:
        return made()
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1,), {}), ((1, "a"), {}), ((1, "a", (2,), None), {}), ((1, "a", (2,), None, 5), {}), ((1,), {"text": "abcd"}),
     ((1, "a"), {"deep": 3}), ((1, "a"), {"line": 3}), ((1, "a"), {"other": 3}), ((), {"text": "a", "line": 2})],
)
def test_construction(args, kwargs):
    ours, theirs = outcome(lambda: Ours(*args, **kwargs)), outcome(lambda: Theirs(*args, **kwargs))
    assert ours == theirs
    if isinstance(ours, tuple):
        assert (ours.line, ours.text, ours.marks, ours.deep, ours.long) == (
            theirs.line, theirs.text, theirs.marks, theirs.deep, theirs.long
        )
        assert repr(ours) == repr(theirs).replace("Theirs", "Ours")


@pytest.mark.parametrize("name", ["_fields", "_field_defaults", "__match_args__", "__slots__"])
def test_what_the_class_tells(name):
    assert getattr(Ours, name) == getattr(Theirs, name)


def test_methods():
    one, other = Ours(1, "ab"), Theirs(1, "ab")
    assert one._asdict() == other._asdict()
    assert one._replace(text="abcd") == other._replace(text="abcd")
    assert type(one._replace(line=2)) is Ours
    assert Ours._make(["x", "y", 1, 2]) == Theirs._make(["x", "y", 1, 2])
    for wrong in (lambda kind: kind._make([1]), lambda kind: kind(1, "a")._replace(other=1)):
        assert outcome(lambda: wrong(Ours)) in {TypeError, ValueError}
        assert outcome(lambda: wrong(Theirs)) in {TypeError, ValueError}  # which of them depends on Python's version


def test_copies_are_of_the_class():
    one = Ours(1, "ab", (3,))
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert type(again) is Ours
        assert again == one


def test_a_field_cannot_be_set_nor_another_be_added():
    one = Ours(1, "ab")
    for name in ("line", "more"):
        with pytest.raises(AttributeError):
            setattr(one, name, 2)


def test_patterns_match_by_place():
    match Ours(1, "ab"):
        case Ours(line, text):
            assert (line, text) == (1, "ab")
        case _:
            pytest.fail("the pattern does not match")


def test_classes_of_no_field_and_below_another():
    assert Empty() == ()
    assert Below(1, "ab").text == "ab"


def test_defaults_stand_last():
    with pytest.raises(TypeError, match="without a default"):
        type(Ours)("Wrong", (tuples.NamedTuple,), {"__annotations__": {"a": int, "b": int}, "a": 1})
