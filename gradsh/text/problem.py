"""What a person is told about a failure: `Problem`, with labelled spans and ways out. Drawn only by the renderers."""


from gradsh.text.fix import Fix
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple

MOST_HELP = 3
"""Fixes that an error shows; `why` shows all."""


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
    `fixes` are the ways out, the best first; `help` are the lines of the first few.
    `notes` are further facts (what a half-done pass had already freed and written).
    """

    kind: str
    message: str
    labels: tuple[Label, ...] = ()
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    title: str = ""
    fixes: tuple[Fix, ...] = ()

    @property
    def offered(self) -> tuple[Fix, ...]:
        """The fixes that are shown: no guess that was not tried."""
        return tuple(fix for fix in self.fixes if fix.tried or not fix.guess)

    def with_fixes(self, fixes: tuple[Fix, ...]) -> "Problem":
        """Return the problem with these fixes, and the best of them as help."""
        found = self._replace(fixes=fixes)
        known = found.offered
        tried, edited = [fix for fix in known if fix.tried], [fix for fix in known if fix.edits]
        shown = tried or [fix for fix in edited if not fix.last] or edited or known
        return found._replace(help=tuple(dict.fromkeys(fix.line() for fix in shown))[:MOST_HELP])


class ProblemError(Exception):
    """A problem found before anything ran (by the lexer, the parser, the command line), raised as an exception."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
