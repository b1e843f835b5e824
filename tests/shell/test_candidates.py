"""What completion offers where, with which words on it, and the live signature."""

import pytest

from gradsh.contracts.settings import defaults
from gradsh.session.session import Session
from gradsh.shell.candidates import Candidates
from gradsh.shell.context import context
from gradsh.shell.signature import clipped, shown_for

PROGRAM = """
import torch
import torch.nn as nn
import torch.nn.functional as F
x = ones(2, 3, requires_grad=True)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
losses = [x.sum()]
def step(alpha, beta=3):
    return alpha
class Loud:
    @property
    def noise(self):
        raise RuntimeError("a property ran")

loud = Loud()
graph = 3
table = {"alpha": 1, "beta": {"gamma": x}, 3: x}
"""


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session(typed=True)
    session.state.settings.values |= defaults(shell=True)
    assert session.run(PROGRAM, lambda _: None).status == 0
    return session


@pytest.fixture(scope="module")
def candidates(session: Session) -> Candidates:
    return Candidates(session)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x.me", "mean"), ("x.requires_g", "requires_grad"), ("x.mean(", "keepdim="), ("x.mean(dim=1, ke", "keepdim="),
        ("net[0].we", "weight"), ("losses[0].sha", "shape"), ("x.sum().unsq", "unsqueeze"), ("net(x).vie", "view"),
        ("backw", "backward"), ("backward ", "x"), ("backward x --ret", "retain"), ("buffers --sort ", "bytes"),
        ("graph x --format ", "mermaid"), ("torch.nn.functional.rel", "relu"), ("F.cross", "cross_entropy"),
        ("nn.Line", "Linear"), ("set ", "theme"), ("set theme ", "light"), ("set timing ", "on"), ("explain fr", "freed"),
        ("help backw", "backward"), ("from torch import nn, opt", "optim"), ("import torch.n", "nn"), ("step(", "alpha="),
        ("'abc'.upp", "upper"), ("[1].app", "append"), ("if x.num", "numel"), ("expect error ver", "version"),
        ("expect ", "error"), ("time x.su", "sum"), ("a = 1; backw", "backward"), ("graph.bit", "bit_length"),
        ("whi", "while"), ("x.GRA", "grad"), ("table['al", "'alpha'"), ('table["', '"alpha"'), ("table[", "'alpha'"),
        ("table['beta']['g", "'gamma'"),
        ("f(table['al", "'alpha'"), ("net[0].weight.gr", "grad_fn"), ("load ./doc", "./docs/"), ("load ../", "../"),
        ("save docs/sh", "docs/shell.md"),
        ("load docs/shell.m", "docs/shell.md"), ("load 'doc", "'docs/"), ("np.zer", "zeros"), ("math.sq", "sqrt"),
        ("F.cross_entropy(", "target="),
    ],
)  # fmt: skip
def test_offers(candidates: Candidates, text: str, wanted: str) -> None:
    _, found = candidates.at(text)
    assert any(one.text == wanted or (wanted == "../" and one.text.startswith(wanted)) for one in found)
    assert all(isinstance(one.meta(), str) for one in found[:50])


def test_what_autograd_asks_comes_first_and_underscored_names_last(candidates: Candidates) -> None:
    names = [one.text for one in candidates.at("x.")[1]]
    assert names[:5] == ["grad", "grad_fn", "requires_grad", "is_leaf", "shape"]
    assert [one.text for one in candidates.at("x.g")[1]][:2] == ["grad", "grad_fn"]
    hidden = [name[0] == "_" for name in names]
    assert hidden == sorted(hidden)


def test_arguments_that_are_given_are_not_offered(candidates: Candidates) -> None:
    names = [one.text for one in candidates.at("F.cross_entropy(x, x, ")[1]]
    assert names[0] == "weight="
    assert "input=" not in names


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("text", ["F.cross_entropy(x, x, None, None, -100, None, ", "F.cross_entropy(", "mse_loss(x, "])
def test_a_signature_is_clipped_around_the_argument_at_the_cursor(session: Session, text: str, width: int) -> None:
    shown = shown_for(session, text, "")
    clip = clipped(shown, width)
    assert len(clip.before + clip.here + clip.after) <= width
    assert clip.here
    assert shown.here.startswith(clip.here)
    if len(shown.before + shown.here + shown.after) <= width:
        assert clip[:3] == shown[:3]


@pytest.mark.parametrize("text", ["# x.me", "'x.me", "f'''x.me", "12", "loud.noise.", "", "x = ", "foo.bar.", "x.mean(1, "])
def test_offers_nothing_unasked(candidates: Candidates, text: str) -> None:
    _, found = candidates.at(text, asked=False)
    assert [one.text for one in found if not one.text.endswith("=")] == []


def test_variables_come_first_with_shape_dtype_and_node(candidates: Candidates) -> None:
    _, found = candidates.at("x")
    assert found[0].text == "x"
    assert found[0].meta() == "(2, 3) float32 leaf"


def test_commands_offer_what_they_take() -> None:
    session = Session(typed=True)
    session.run("x = ones(2, requires_grad=True)\nmark here\ny = x.exp()\nretain y\n", lambda _: None)
    offered = {text: [one.text for one in Candidates(session).at(text)[1]] for text in ("undo ", "fix ", "back ", "diff ", "release ")}
    assert offered == {"undo ": [], "fix ": [], "back ": ["here"], "diff ": ["here", "x", "y"], "release ": ["y"]}


def test_files_are_offered_for_load(candidates: Candidates, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.grad").write_text("")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [one.text for one in candidates.at("load ")[1]] == ["folder/", "mine.grad"]
    assert [one.text for one in candidates.at("graph x --output mi")[1]] == ["mine.grad"]
    assert [one.text for one in candidates.at(f"load {tmp_path}/mi")[1]] == [f"{tmp_path}/mine.grad"]


def test_a_bound_name_is_no_command(session: Session) -> None:
    assert context("graph ", {"graph"}).command == ""
    assert context("graph x", {"graph"}).command == "graph"
    assert context("buffers = 3 --").kind != "option"


@pytest.mark.parametrize(
    ("before", "here", "saves"),
    [
        ("mul(x, ", "other", "saves self, other"), ("x.mean(", "dim", "saves nothing"), ("x.mean(1, ", "keepdim=False", "saves nothing"),
        ("x.mean(dim=", "dim", "saves nothing"), ("nn.Linear(3, ", "out_features: int", ""), ("step(1, ", "beta=3", ""),
        ("relu(exp(", "self", "saves result"),
    ],
)  # fmt: skip
def test_signature(session: Session, before: str, here: str, saves: str) -> None:
    shown = shown_for(session, before, ")")
    assert shown is not None
    assert (shown.here, shown.saves) == (here, saves)


@pytest.mark.parametrize("before", ["x *", "x.exp", "x @"])
def test_what_the_operation_under_the_cursor_saves(session: Session, before: str) -> None:
    shown = shown_for(session, before, "")
    assert shown is not None
    assert "saves" in shown.saves


def test_no_signature_outside_of_calls(session: Session) -> None:
    assert shown_for(session, "y = 3", "") is None
    assert shown_for(session, "unknown_name(", ")") is None
