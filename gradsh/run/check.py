"""`gradsh check`: parses scripts and looks their names up, without running anything."""

import builtins
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from gradsh.commands import GRAMMARS
from gradsh.compiler.scopes import annotations_of, bound_names, tried_imports, walk
from gradsh.diagnosis.code import path_of
from gradsh.diagnosis.explain_other import IMPORTS
from gradsh.diagnosis.nearest import for_attribute, near
from gradsh.engine.ambient import current, enter, tell
from gradsh.engine.values.device import check_device
from gradsh.engine.values.dtype import ALIASES, FOREIGN, ForeignDType, foreign
from gradsh.language import tree
from gradsh.language.node import SyntaxNode
from gradsh.language.parser import MAX_TEXT, parse
from gradsh.language.paste import clean
from gradsh.render.diagnostic import draw
from gradsh.render.style import style_for
from gradsh.run.read import Script, read_script
from gradsh.run.script import module_reader, unreadable
from gradsh.run.unimported import before_run
from gradsh.runtime.builtins import REFUSED, Refused
from gradsh.runtime.machine import Machine
from gradsh.runtime.missing_modules import ON_PYTORCH, Absent, holder, way_without
from gradsh.session.session import Session
from gradsh.text.fault import fault_of
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span

_CONVERSIONS = {**ALIASES, **{one.name: one for one in FOREIGN}}
"""Dtypes by the methods that convert to them."""
_METHODS = {
    "cuda": "it does nothing with `--cuda ignore`, else it is an error, as in PyTorch without a GPU",
    "mkdir": "the folder exists in the session only",
}
"""Methods that stand in, whatever their owner."""


def check_files(names: list[str], path: tuple[str, ...] = ()) -> int:
    """Tell the problems of each script on standard error; return the exit status."""
    status = 0
    usual = style_for(sys.stderr)
    for script in map(read_script, names):
        style = usual._replace(file=script.name)
        stand_ins: list[str] = []
        source, problems = check_script(script, stand_ins.append, path)
        for text in stand_ins:
            sys.stderr.write(f"{style.paint('warning', 'warning')}: {text}\n")
        for problem in problems:
            sys.stderr.write("".join(line + "\n" for line in draw(problem, source, style)))
        status = max(status, 2 if script.unreadable else 1 if problems else 0)
    return status


def check_script(
    script: Script, told: Callable[[str], None] = lambda _: None, path: tuple[str, ...] = ()
) -> tuple[Source, list[Problem]]:
    """Return a script's source and its problems: what does not parse, is refused, or names nothing.

    `told` takes a sentence for each module, function and class that stands in, and one about names that Python does not find.
    """
    if script.unreadable:
        failure = unreadable(script)
        return failure.source, [failure.problem]
    source = Source(script.name, clean(script.text[: MAX_TEXT + 1])[0])
    try:
        program = parse(source, GRAMMARS)
    except ProblemError as error:
        return source, [error.problem]
    session = Session()
    session.ambient.warn = lambda message, _: told(message)
    session.machine.read_module, session.machine.only_checks = module_reader(script, path), True
    with enter(session.ambient):
        problems = list(_problems(program, session.machine, source))
        if warning := before_run(program, session.machine):
            told(warning.message)
    return source, sorted(problems, key=lambda problem: problem.labels[0].span[:2] if problem.labels else (0, 0))


def _problems(program: tree.Program, machine: Machine, source: Source) -> Iterator[Problem]:
    """Yield what is refused, and what names nothing."""
    for statement in program.body:
        try:
            machine.compile(statement, source)
        except ProblemError as error:
            yield error.problem
    yield from NameChecker(program, machine, source).problems()


def _names_cpu(node: tree.Call) -> bool:
    """Whether a call names the CPU as its device, by a constant."""
    given = [*node.args[:1], *(word.value for word in node.keywords if word.arg in {"device", "device_type"})]
    return any(isinstance(one, tree.Constant) and one.value == "cpu" for one in given)


class NameChecker:
    """The names of one program: what binds them anywhere in it, and which of them stand for a namespace throughout."""

    def __init__(self, program: tree.Program, machine: Machine, source: Source) -> None:
        self.machine = machine
        self.source = source
        self.found: list[Problem] = []
        self.nodes = list(walk(program))
        self.on_cpu = {id(node.func) for node in self.nodes if isinstance(node, tree.Call) and _names_cpu(node)}
        self.bound = {name for node in self.nodes for name in _binds(node)} | {"__doc__", "__file__", "__name__", "__package__"}
        used = {node.id for node in self.nodes if isinstance(node, tree.Name)}
        runs = any(not isinstance(one, tree.FunctionDef | tree.ClassDef | tree.Import | tree.ImportFrom) for one in program.body)
        idle = [one for one in program.body if runs and isinstance(one, tree.FunctionDef) and one.name not in used]
        self.unused = {id(node) for one in idle for part in one.body for node in walk(part)}
        """What stands in functions that nothing names; those of a file that defines and runs nothing are for others."""
        others = {
            name for node in self.nodes if not isinstance(node, tree.Program | tree.FunctionDef | tree.ClassDef)
            for name in _binds(node)
        }
        imported: dict[str, list[object]] = {}
        tried = set(map(id, tried_imports(self.nodes)))
        for_types = {id(one) for node in self.nodes if isinstance(node, tree.If) and _is_for_types(node.test) for one in node.body}
        for node in self.nodes:
            if id(node) in for_types:
                continue
            for name, value in self._imported(node):
                imported.setdefault(name, []).append(None if id(node) in tried and isinstance(value, Absent) else value)
        others |= {name for name, count in self._bindings().items() if count > len(imported.get(name, ()))}
        self.values = {name: values[0] for name, values in imported.items() if name not in others and len(set(map(id, values))) == 1}

    def problems(self) -> list[Problem]:
        """Return a problem for each name, and each attribute of a namespace, that nothing binds or offers."""
        annotations = list(_annotations(self.nodes))
        apart = {id(part) for one, _ in annotations for part in walk(one)}
        whole = any(isinstance(node, tree.ImportFrom) and node.names[0].name == "*" for node in self.nodes)
        seen: set[str] = set()
        for node in self.nodes:
            if id(node) in apart:
                continue
            if isinstance(node, tree.Attribute):
                self._attribute(node)
            elif isinstance(node, tree.Call) and not path_of(node.func).endswith("autocast"):
                for word in node.keywords:
                    self._place_or_dtype(word)
                self._conversion(node)
            elif isinstance(node, tree.Name) and node.id not in seen:
                seen.add(node.id)
                self._name(node, whole)
        evaluated = [part for one, read in annotations if read for part in walk(one) if isinstance(part, tree.Name)]
        for name in evaluated:
            if name.id not in seen and not hasattr(builtins, name.id) and self._value(name) is None:
                seen.add(name.id)
                self._unbound(name, whole)
        return self.found

    def _name(self, node: tree.Name, whole: bool) -> None:
        value = self._value(node)
        self._stands_in(node, value)
        if isinstance(value, Absent | Refused):
            try:
                value.explain() if isinstance(value, Absent) else value()
            except (ImportError, NameError, EOFError) as error:
                way = _fields(error).get("way", "")
                self._tell("name", str(error).removesuffix(way).rstrip(":; "), node.span, way)
        elif value is None:
            self._unbound(node, whole)

    def _unbound(self, node: tree.Name, whole: bool) -> None:
        """Tell that nothing binds a name, if nothing does."""
        if node.id not in self.bound and node.id not in self.machine.builtins and not whole:
            near_ones = near(node.id, [*sorted(self.bound), *self.machine.offer.bare_names()])
            way = "did you mean " + " or ".join(f"`{one}`" for one in near_ones) + "?" if near_ones else ""
            way = f"import it first: `{IMPORTS[node.id]}`" if node.id in IMPORTS else way
            message = f"name '{node.id}' is not defined"
            if id(node) in self.unused:
                told = f"line {node.span.line}: {message}; nothing names the function that it is in"
                current().warning(f"{told}; {way}" if way else told)
            else:
                self._tell("name", message, node.span, way)

    def _stands_in(self, node: tree.Name | tree.Attribute, value: object) -> None:
        """Tell that a function or class stands in, if it does: some do so for a GPU alone."""
        if isinstance(value, FunctionType | type) and "stand_in" in vars(value) and id(node) not in self.on_cpu:
            tell(value)

    def _attribute(self, node: tree.Attribute) -> None:
        owner = self._value(node.value)
        if owner is None and node.attr in _METHODS:
            current().stands_in(f".{node.attr}()", _METHODS[node.attr])
        self._stands_in(node, self._value(node))
        if isinstance(owner, self.machine.guard.namespaces) and not self._offers(owner, node.attr):
            if holder(owner.name, node.attr):
                way = way_without(f"{owner.name}.{node.attr}") or ON_PYTORCH
            else:
                meant = " or ".join(f"`{one}`" for one in for_attribute(self.machine, owner, node.attr))
                way = f"did you mean {meant}?" if meant else ""
            self._tell("attribute", f"module '{owner.name}' has no attribute '{node.attr}'", node.span, way)

    def _place_or_dtype(self, node: tree.keyword) -> None:
        """Tell of a device or dtype that is written out in a call, if it is not here."""
        name = node.value.value if isinstance(node.value, tree.Constant) else None
        if node.arg == "device" and isinstance(name, str) and name.startswith("cuda"):
            current().stands_in(f"device='{name}'", _METHODS["cuda"])
            return
        try:
            if node.arg == "device" and isinstance(name, str):
                check_device(name)
            elif node.arg == "dtype":
                self._dtype(self._value(node.value))
        except (RuntimeError, TypeError) as error:
            self._tell("other", str(error), node.value.span, _fields(error).get("way", ""))

    def _conversion(self, node: tree.Call) -> None:
        """Tell of a method that converts to a dtype which is not here (`x.half()`, `x.to(torch.float16)`)."""
        name = node.func.attr if isinstance(node.func, tree.Attribute) and self._value(node.func.value) is None else ""
        try:
            if name in {"to", "type"}:
                for one in node.args:
                    self._dtype(self._value(one))
            elif not node.args and name not in self.bound:
                self._dtype(_CONVERSIONS.get(name))
        except TypeError as error:
            self._tell("other", str(error), node.span, _fields(error).get("way", ""))

    def _dtype(self, value: object) -> None:
        if isinstance(value, ForeignDType):
            raise foreign(value.name)

    def _offers(self, owner: object, name: str) -> bool:
        try:
            self.machine.guard.read(owner, name)
        except AttributeError:
            return False
        return True

    def _value(self, node: SyntaxNode) -> Any:
        """Return the namespace, or what is in one, that an expression stands for wherever it stands; None: not known."""
        if isinstance(node, tree.Name):
            if node.id in self.bound:
                return self.values.get(node.id)
            offered = self.machine.builtins
            if node.id in REFUSED or node.id in offered or self.machine.offer.bring(node.id, offered):
                return offered.get(node.id)
        elif isinstance(node, tree.Attribute):
            owner = self._value(node.value)
            if isinstance(owner, self.machine.guard.namespaces):
                try:
                    return self.machine.guard.read(owner, node.attr)
                except AttributeError:
                    return None
        return None

    def _imported(self, node: SyntaxNode) -> Iterator[tuple[str, object]]:
        """Yield (name, value) for each name that an import binds; one that fails is a problem."""
        imports = self.machine.offer.imports
        if isinstance(node, tree.Import):
            for one in node.names:
                value = self._import(one, lambda one=one: imports.module(one.name, one.asname is not None))
                yield one.asname or one.name.partition(".")[0], value
        elif isinstance(node, tree.ImportFrom) and node.module and not node.level:
            for one in node.names:
                if one.name != "*":
                    path = node.module
                    yield one.asname or one.name, self._import(one, lambda one=one, path=path: imports.member(path, one.name))

    def _import(self, node: tree.alias, find: Any) -> object:
        try:
            return find()
        except ImportError as error:
            owner = _fields(error).get("owner")
            meant = " or ".join(f"`{one}`" for one in for_attribute(self.machine, owner, node.name)) if owner is not None else ""
            self._tell("name", str(error), node.span, f"did you mean {meant}?" if meant else ON_PYTORCH)
        except ProblemError as error:  # of a file beside the script
            if error.problem not in self.found:
                self.found.append(error.problem)
        return None

    def _bindings(self) -> dict[str, int]:
        """Return how often each name is bound in the blocks of the program."""
        counts: dict[str, int] = {}
        for node in self.nodes:
            if isinstance(node, tree.Program | tree.FunctionDef | tree.ClassDef):
                for name, _ in bound_names(list(node.body)):
                    counts[name] = counts.get(name, 0) + 1
        return counts

    def _tell(self, kind: str, message: str, span: Span, way: str) -> None:
        self.found.append(Problem(kind, message, (Label("needed", span, "", self.source),), (way,) if way else ()))


def _fields(error: Exception) -> dict[str, Any]:
    fault = fault_of(error)
    return {} if fault is None else fault.fields


def _annotations(nodes: list[SyntaxNode]) -> Iterator[tuple[SyntaxNode, bool]]:
    """Yield each annotation, and whether it is evaluated: one of a function's own variable is not."""
    local = {id(one) for node in nodes if isinstance(node, tree.FunctionDef) for part in node.body for one in walk(part)}
    for node in nodes:
        if isinstance(node, tree.FunctionDef):
            yield from ((one, True) for one in annotations_of(node))
        elif isinstance(node, tree.AnnAssign):
            yield node.annotation, id(node) not in local


def _is_for_types(test: SyntaxNode) -> bool:
    """Whether an `if` asks for TYPE_CHECKING, so that its imports never run."""
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


def _binds(node: SyntaxNode) -> Iterator[str]:
    """Yield the names that a node binds, in whatever scope."""
    match node:
        case tree.Program() | tree.FunctionDef() | tree.ClassDef():
            yield from (name for name, _ in bound_names(list(node.body)))
        case tree.comprehension():
            yield from (one.id for one in walk(node.target) if isinstance(one, tree.Name))
        case tree.arg():
            yield node.arg
        case tree.match_case():
            yield "_"
        case tree.Global() | tree.Nonlocal():
            yield from node.names
        case _:
            return
