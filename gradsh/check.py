"""`gradsh check`: parses scripts and looks their names up, without running anything."""

import sys
from collections.abc import Iterator

from gradsh.batch import Script, read_script, unreadable
from gradsh.commands import GRAMMARS
from gradsh.interpreter.machine import Machine
from gradsh.interpreter.scopes import bound_names, children
from gradsh.language import tree
from gradsh.language.node import Node
from gradsh.language.parser import parse
from gradsh.language.paste import clean
from gradsh.render.diagnostic import draw
from gradsh.render.style import style_for
from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source


def check_files(names: list[str], *, plain: bool = False) -> int:
    """Tell the problems of each script on standard error; return the exit status."""
    status = 0
    style = style_for(sys.stderr, plain=plain, files=True)
    for script in map(read_script, names):
        source, problems = check_script(script)
        for problem in problems:
            sys.stderr.write("".join(line + "\n" for line in draw(problem, source, style)))
        status = max(status, 2 if script.unreadable else 1 if problems else 0)
    return status


def check_script(script: Script) -> tuple[Source, list[Problem]]:
    """Return a script's source and its problems: what does not parse, is refused, or names nothing."""
    if script.unreadable:
        failure = unreadable(script)
        return failure.source, [failure.problem]
    source = Source(script.name, clean(script.text)[0])
    try:
        program = parse(source, GRAMMARS)
    except ProblemError as error:
        return source, [error.problem]
    machine = Machine()
    problems = []
    for statement in program.body:
        try:
            machine.compile(statement, source)
        except ProblemError as error:
            problems.append(error.problem)
    return source, problems + list(_unknown(program, machine, source))


def _unknown(program: tree.Program, machine: Machine, source: Source) -> Iterator[Problem]:
    """Yield a problem for each name that is read and that nothing, anywhere in the program, binds or offers."""
    nodes = list(_walk(program))
    bound = {name for node in nodes for name in _binds(node)} | {"__name__"}
    if any(isinstance(node, tree.ImportFrom) and node.names[0].name == "*" for node in nodes):
        return
    seen = set()
    for node in nodes:
        if isinstance(node, tree.Name) and node.id not in bound and node.id not in seen:
            seen.add(node.id)
            if node.id not in machine.builtins and not machine.offer.bring(node.id, machine.builtins):
                yield _problem(node, bound, machine, source)


def _problem(node: tree.Name, bound: set[str], machine: Machine, source: Source) -> Problem:
    from difflib import get_close_matches

    near = get_close_matches(node.id, [*sorted(bound), *machine.offer.bare_names()], 1)
    ways = (f"did you mean `{near[0]}`?",) if near else ()
    return Problem("name", f"name '{node.id}' is not defined", (Label("needed", node.span, "", source),), ways)


def _walk(node: Node) -> Iterator[Node]:
    stack: list[Node] = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(list(children(one))))


def _binds(node: Node) -> Iterator[str]:
    """Yield the names that a node binds, in whatever scope."""
    match node:
        case tree.Program() | tree.FunctionDef() | tree.ClassDef():
            yield from (name for name, _ in bound_names(list(node.body)))
        case tree.comprehension():
            yield from (one.id for one in _walk(node.target) if isinstance(one, tree.Name))
        case tree.arg():
            yield node.arg
        case tree.Global() | tree.Nonlocal():
            yield from node.names
        case _:
            return
