"""Each folder imports only from those above it in the list of `docs/architecture.md`."""

import ast
from pathlib import Path

import gradsh

ROOT = Path(gradsh.__file__).parent
ORDER = (
    ("version", "text"), ("process",), ("language", "engine"), ("ops",), ("api",), ("probe",), ("compiler",), ("runtime",),
    ("diagnosis",), ("view",), ("contracts",), ("commands",), ("session",), ("render",), ("run",), ("golden", "shell", "lens"),
    ("pytest_plugin", "cli"), ("__main__",),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
LAZY = {  # imported inside a function when first needed: what knows operations by name
    "engine/registry.py": {"ops"}, "engine/graph/lazy_methods.py": {"ops"},
}
ENTRY = {"__init__"}  # `import gradsh` gives the library's names, lazily


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The rooms of gradsh that a file imports, those inside functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
    silent = [str(path) for path in ROOT.rglob("*.py") if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert silent == []


def test_torch_is_imported_by_the_lens_alone() -> None:
    for path in ROOT.rglob("*.py"):
        if room_of(path) == "lens":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(node.module or "")
            assert not any(name.split(".")[0] == "torch" for name in names), path
