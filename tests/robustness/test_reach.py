"""No script gets out by what it reaches: the walk is taken to its end, and each special name is tried on each object."""

from pathlib import Path
from types import BuiltinFunctionType, MethodType
from typing import Any

import pytest

from gradsh.api.function import FunctionNode
from gradsh.compiler.special import LOOKUPS, SPECIAL_METHODS
from gradsh.contracts.events import Failure
from gradsh.runtime.guard import has_attributes, is_script_class
from gradsh.session.session import Session
from tests.robustness.reach import DANGEROUS, INERT, SPECIAL, Walk, prepared

HERE = Path(__file__).parent
ASKED_OF_INSTANCES = tuple(f"__{name}__" for name in (
    "array_interface", "array_struct", "array", "array_wrap", "array_priority", "array_finalize", "dlpack", "copy", "deepcopy",
    "reduce", "reduce_ex", "getstate", "setstate", "getnewargs_ex", "dict", "class", "bases", "wrapped", "signature",
    "text_signature", "isabstractmethod", "mro_entries", "fspath", "code", "globals", "node",
))
"""Special names that Python's own code, numpy's and the engine's look up on instances, not only on types."""


@pytest.fixture(scope="module")
def session() -> Session:
    return prepared()


@pytest.fixture(scope="module")
def reached(session: Session) -> list[tuple[str, Any]]:
    return Walk(session).run()


def test_the_walk_comes_to_an_end(reached: list[tuple[str, Any]]) -> None:
    assert len(reached) > 1000
    assert max(path.count(".") for path, _ in reached) < 8  # nothing goes on for ever


def test_nothing_dangerous_is_reached(session: Session, reached: list[tuple[str, Any]]) -> None:
    machine = session.machine
    dictionaries = [machine.program, machine.builtins, vars(machine)]
    dictionaries += [vars(value) for _, value in reached if isinstance(getattr(value, "__dict__", None), dict)]
    known = {id(one) for one in dictionaries}
    for path, value in reached:
        assert not isinstance(value, (*DANGEROUS, FunctionNode)), path
        assert id(value) not in known, f"{path} is an object's own dictionary"
        assert not (isinstance(value, type) and issubclass(value, type)), f"{path} makes classes of any names"


def test_nothing_that_is_shown_names_a_home_of_gradsh(reached: list[tuple[str, Any]]) -> None:
    shown = {path: repr(value) for path, value in reached}
    assert [path for path, text in shown.items() if "gradsh." in text] == []


def test_special_names_are_neither_read_nor_set(session: Session, reached: list[tuple[str, Any]]) -> None:
    """Of what Python's protocols rest on, a script reads nothing; and it sets on no object what a class may not define."""
    guard = session.machine.guard
    machinery = set(SPECIAL) - SPECIAL_METHODS - {"__class__", "__module__"}
    one_of_a_kind = {type(value): (path, value) for path, value in reached if isinstance(value, (MethodType, BuiltinFunctionType))}
    others = [(path, value) for path, value in reached if type(value) not in one_of_a_kind]
    for path, value in [*others, *one_of_a_kind.values()]:
        for name in machinery:
            assert refuses(guard.assign, value, name, 3), f"{path}.{name} = 3"
            mine = name == "__dict__" and has_attributes(type(value))  # a script's own attributes, by name
            mine = mine or (value is object and name in {*LOOKUPS, "__new__"})  # the guard's own
            mine = mine or (name in LOOKUPS and is_script_class(type(value)))  # reading and assignment under guard
            assert mine or isinstance(value, INERT) or refuses(guard.read, value, name), f"{path}.{name}"


def refuses(function: Any, *args: Any) -> bool:
    try:
        function(*args)
    except (AttributeError, TypeError):
        return True
    return False


def test_no_object_answers_a_special_name_from_what_a_script_has_put_into_it() -> None:
    """Numpy, copying and Python's own C code ask instances, so they are asked here, past the guard."""
    session = Session()
    events: list[Any] = []
    session.run((HERE / "special_names.grad").read_text(encoding="utf-8"), events.append)
    assert not [event.problem.message for event in events if isinstance(event, Failure)]
    program = session.machine.program
    planted = {id(one) for one in program["planted"]}
    for name in ASKED_OF_INSTANCES:
        objects = program["routes"](name)
        assert len(objects) > 150
        for one in objects:
            for owner in (one, type(one)):
                if name not in SPECIAL_METHODS:
                    assert id(answer(owner, name)) not in planted, (name, owner)
                    assert name not in getattr(owner, "__dict__", {}) or name in dir(object) or isinstance(owner, type), (name, owner)


def answer(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001  # an answer of another sort: the object is not one for arrays
        return None
