"""What the package says about itself, and that it says it once."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import gradsh

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_entry_points_lead_somewhere() -> None:
    points = [*PROJECT["scripts"].values()]
    for group in PROJECT.get("entry-points", {}).values():
        points += group.values()
    assert len(points) >= 2
    for point in points:
        module, _, name = point.partition(":")
        found = importlib.import_module(module)
        assert not name or callable(getattr(found, name))


def test_each_place_has_the_version() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", gradsh.__version__)
    assert f"## [{gradsh.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert json.loads((ROOT / "editors/vscode/package.json").read_text(encoding="utf-8"))["version"] == gradsh.__version__
    assert f"gradsh-{gradsh.__version__}.vsix" in (ROOT / "editors/vscode/README.md").read_text(encoding="utf-8")
    assert (ROOT / "docs/gradsh.1").read_text(encoding="utf-8").startswith(f'.TH GRADSH 1 "" "gradsh {gradsh.__version__}"')


def test_constraints_lie_within_the_ranges() -> None:
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"], *PROJECT["optional-dependencies"]["site"]]
    for requirement in wanted:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+),<([\d.]+)", requirement)
        assert match, requirement
        name, low, high = match.groups()
        assert numbers(low) <= numbers(pinned[name]) < numbers(high), requirement


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_types_and_licence_are_shipped() -> None:
    assert (ROOT / "gradsh" / "py.typed").exists()
    assert PROJECT["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


def test_classifiers_name_every_python_that_is_supported() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    assert "Programming Language :: Python :: 3.11" in PROJECT["classifiers"]
    assert "Typing :: Typed" in PROJECT["classifiers"]
