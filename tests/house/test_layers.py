"""Each folder imports only from those above it in the list of `docs/architecture.md`, and no file, by any way, from itself."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gradsh

ROOT = Path(gradsh.__file__).parent
ORDER = (
    ("version", "text"), ("process",), ("language", "engine"), ("ops",), ("api",), ("probe",), ("compiler",), ("runtime",),
    ("diagnosis",), ("view",), ("contracts",), ("commands",), ("session",), ("render",), ("report",), ("run",),
    ("golden", "shell"), ("kernel",), ("lens",), ("pytest_plugin", "cli"), ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
LAZY = {  # imported inside a function when first needed: what knows operations by name
    "engine/registry.py": {"ops"}, "engine/graph/lazy_methods.py": {"ops"},
}
ENTRY = {"__init__"}  # `import gradsh` gives the library's names, lazily


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> set[str]:
    """The rooms of gradsh that a file imports, those inside functions included."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gradsh":
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("gradsh.")}
    return found


def test_no_import_goes_upward() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        room = room_of(path)
        if room in ENTRY:
            continue
        assert room in LEVEL, f"{path} is in no room: add it to docs/architecture.md and here"
        for other in imports(path):
            if other in LAZY.get(path.relative_to(ROOT).as_posix(), set()):
                continue
            if other != room and LEVEL.get(other, -1) >= LEVEL[room]:
                wrong.append(f"{path.relative_to(ROOT)} imports gradsh.{other}")
    assert wrong == []


def test_every_module_says_what_belongs_in_it() -> None:
    silent = [str(path) for path in ROOT.rglob("*.py") if not ast.get_docstring(parsed(path))]
    assert silent == []


def test_torch_is_imported_by_the_lens_alone() -> None:
    for path in ROOT.rglob("*.py"):
        if room_of(path) == "lens":
            continue
        for node in ast.walk(parsed(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(node.module or "")
            assert not any(name.split(".")[0] == "torch" for name in names), path


def files() -> dict[str, Path]:
    """Every file of the package by its module's name."""
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in ROOT.rglob("*.py")}
    return {name: path for path, name in names.items() if name != "__init__"}


def walk(tree: ast.AST, typing: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement (with `typing` those for type checkers, too), and whether it is run later than the file, or never."""
    left = [(tree, False)]
    while left:
        node, lazy = left.pop()
        yield node, lazy
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if for_types and not typing:
            continue
        lazy = lazy or for_types or isinstance(node, ast.FunctionDef)
        left += [(child, lazy) for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.ExceptHandler))]


@cache
def edges(typing: bool) -> dict[str, dict[str, bool]]:
    """The files that each file imports, and whether only inside functions (or, with `typing`, for type checkers)."""
    known = files()
    found: dict[str, dict[str, bool]] = {name: {} for name in known}
    for name, path in known.items():
        for node, lazy in walk(parsed(path), typing):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("gradsh."):
                module = module.removeprefix("gradsh.")
                for alias in node.names:
                    target = f"{module}.{alias.name}" if f"{module}.{alias.name}" in known else module
                    if target != name:
                        found[name][target] = found[name].get(target, True) and lazy
    return found


def circles(graph: dict[str, set[str]]) -> dict[str, list[str]]:
    """What is left of a graph of imports when all is taken away that imports nothing that is left."""
    while True:
        free = {name for name, targets in graph.items() if not targets & graph.keys()}
        if not free:
            return {name: sorted(targets & graph.keys()) for name, targets in graph.items()}
        graph = {name: targets for name, targets in graph.items() if name not in free}


def test_no_files_import_each_other() -> None:
    """Neither when they are loaded, nor inside functions, nor for type checkers."""
    assert circles({name: {*targets} for name, targets in edges(typing=True).items()}) == {}


def loaded_with(name: str, graph: dict[str, dict[str, bool]]) -> set[str]:
    """The files that are loaded when one is: what it imports outside functions, and the packages around that."""
    found, left = {name}, [name]
    while left:
        here = left.pop()
        targets = {target for target, lazy in graph.get(here, {}).items() if not lazy} | ({here.rpartition(".")[0]} & graph.keys())
        left += targets - found
        found |= targets
    return found


def test_the_lazy_imports_are_known() -> None:
    """`lazy_imports.txt` lists every import inside a function, with its reason."""
    listed = [line for line in (Path(__file__).parent / "lazy_imports.txt").read_text().splitlines() if line and line[0] != "#"]
    found = {name: sorted(target for target, lazy in targets.items() if lazy) for name, targets in edges(typing=False).items()}
    assert listed == [f"{name}: {' '.join(targets)}" for name, targets in sorted(found.items()) if targets]


def test_a_lazy_import_defers_something() -> None:
    """Its target is not loaded with its importer anyhow."""
    graph = edges(typing=False)
    assert [
        (name, target) for name, targets in graph.items() for target, lazy in targets.items()
        if lazy and target in loaded_with(name, graph)
    ] == []


HOMONYMS = {  # class names that two files still bear: a report is what its command returns, the others are PyTorch's or Python's names
    "Report", "Generator", "Identity", "Module", "Namespace", "Settings", "Signature", "Variable",
}


def test_no_two_classes_have_one_name() -> None:
    found = [node.name for path in files().values() for node in parsed(path).body if isinstance(node, ast.ClassDef)]
    assert {name for name in found if found.count(name) > 1} <= HOMONYMS


def test_annotations_say_what_they_take() -> None:
    """`Any` stands in fewer than 3 of 100 lines."""
    texts = [path.read_text(encoding="utf-8") for path in files().values()]
    assert 100 * sum(len(re.findall(r"\bAny\b", text)) for text in texts) < 3 * sum(text.count("\n") for text in texts)
