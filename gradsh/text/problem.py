"""What a person is told about a failure: `Problem`, with labelled spans and ways out. Drawn only by the renderers."""


from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple


class Label(NamedTuple):
    """A marked place: its role (needed, saved, freed, modified, built, operand, called, defined), span and words."""

    role: str
    span: Span
    text: str
    source: Source | None = None


class Problem(NamedTuple):
    """A failure as data: a kind of `kinds.KINDS`, one sentence, the places of its story and the ways out.

    `message` opens with PyTorch's own sentence where PyTorch has one for the case; `title` is gradsh's shorter,
    more exact sentence for the heading (empty: the message serves).
    `notes` are further facts (what a half-done pass had already freed and written).
    """

    kind: str
    message: str
    labels: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    title: str = ""


class ProblemError(Exception):
    """A problem found before anything ran (by the lexer, the parser, the command line), raised as an exception."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
