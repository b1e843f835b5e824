"""Fuzz of what reads programs: mutated scripts, shaken tokens, refused Python, nesting. GRADSH_FUZZ=100 draws a hundred times as many."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.robustness.held import (
    LIMITS,
    golden_is_judged,
    lines_stay,
    parameters_are_told,
    parses_or_explains,
    runs_or_explains,
    settings_are_read,
)
from tests.robustness.hostile import Hostile, corpus, words
from tests.sweep import draws


def fuzz(examples: int):
    quiet = [HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(max_examples=draws(examples), deadline=None, suppress_health_check=quiet)


RANDOM = st.randoms(use_true_random=False)
PROGRAMS = RANDOM.map(lambda random: Hostile(random).program())


@fuzz(300)
@given(PROGRAMS)
@example("f'{x!r:{")
@example("\ufeff\x00")
@example("if x:\n\t y\n        z\r\relse")
@example("x = 1 \\")
def test_hostile_programs_parse_or_are_explained(text: str) -> None:
    parses_or_explains(text)
    lines_stay(text)


@pytest.mark.parametrize("text", words()["REFUSED"])
def test_refused_programs_are_explained(text: str) -> None:
    parses_or_explains(text)
    runs_or_explains(text)


@pytest.mark.parametrize("piece", words()["DEEP"])
def test_what_nests_is_parsed_or_explained(piece: str) -> None:
    for count in (99, 101, 199, 201, 5000):
        parses_or_explains("x = " + piece * count + "x")


@fuzz(120)
@given(PROGRAMS)
@example("x = ones(2, requires_grad=True)\ny = x * 2**63\nbuffers")
@example("x = ones(2, requires_grad=True)\n(x * 2).backward('')")
@example("round(-2**63, -2**63)")
@example("print(1, a=2)")
@example("torch.nn.functional.__add__(ones(1), ones(1))")
@example("%matplotlib inline\nIn [1]: x\nOut[1]")
def test_hostile_programs_run_or_are_explained(text: str) -> None:
    runs_or_explains(text)


@fuzz(100)
@given(RANDOM)
def test_hostile_goldens_are_judged(tmp_path: Path, random) -> None:
    golden_is_judged(Hostile(random).golden(), tmp_path / "x.grad")


@fuzz(100)
@given(RANDOM, st.dictionaries(st.sampled_from(["lr", "n", "x", "", "é"]), st.text(max_size=10)))
def test_parameters_of_hostile_texts_are_told(random, given_values: dict[str, str]) -> None:
    hostile = Hostile(random)
    marked = "lr = 0.1  #@param rate\nn = -3 #@param\nx = 'a'  #@param\n"
    parameters_are_told(hostile.mutated(marked + hostile.piece_of_corpus()), given_values)


@fuzz(150)
@given(RANDOM)
def test_hostile_command_lines_are_answered(tmp_path: Path, random) -> None:
    runs_or_explains(Hostile(random).commands(), LIMITS._replace(allow_files=str(tmp_path)))


@fuzz(150)
@given(RANDOM)
def test_any_settings_and_history_are_read(tmp_path: Path, random) -> None:
    hostile = Hostile(random)
    settings_are_read(hostile.toml(), hostile.history(), tmp_path)


def test_the_corpus_is_there() -> None:
    assert len(corpus()) > 100
