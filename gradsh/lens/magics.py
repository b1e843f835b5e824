"""`%load_ext gradsh`: the commands as magics in IPython and Jupyter, and the story when a cell's backward fails.

`%%grad` runs a cell in a gradsh session, which all such cells share; it needs no PyTorch.
"""

import traceback
from typing import Any

from gradsh.commands import find
from gradsh.diagnosis.classify import kind_of
from gradsh.lens import missing
from gradsh.lens.program import strip
from gradsh.lens.units import Sources
from gradsh.render.diagnostic import draw
from gradsh.render.style import Style
from gradsh.text.problem import ProblemError


def load(shell: Any) -> None:
    """Begin to watch, and register the magics with an IPython shell; without PyTorch, only `%%grad`."""
    shell.register_magic_function(_cells(shell), "cell", "grad")
    if lacking := missing():
        print(f"gradsh: only %%grad is available: {lacking}")  # noqa: T201
        return
    from gradsh.lens import api
    from gradsh.lens.looks import COMMANDS

    api.start()
    sources = api.watcher().sources
    if isinstance(sources, Sources):
        sources.name_of = lambda filename: _cell_name(shell, filename)
    for name in COMMANDS:
        shell.register_magic_function(_magic(shell, name), "line", name)
    shell.set_custom_exc((RuntimeError,), _tell)
    shell.set_hook("complete_command", _complete, re_key=rf"%?(?:{'|'.join(COMMANDS)})\b")


def unload(shell: Any) -> None:
    """Stop watching, and let failures be shown as they were."""
    from gradsh.lens import api

    api.stop()
    shell.set_custom_exc((), None)


def _cell_name(shell: Any, filename: str) -> str:
    """Return the name of a cell for the file that IPython gives it, the same for any other."""
    known = getattr(shell.compile, "format_code_name", lambda _: None)(filename)  # ("Cell", "In[3]"), from IPython 8 on
    number = "".join(filter(str.isdigit, known[1])) if known else ""
    return f"cell {number}" if number else filename


class CellFailed(Exception):
    """A cell of `%%grad` failed; IPython shows the story in place of a traceback."""

    def __init__(self, message: str, story: list[str]) -> None:
        super().__init__(message)
        self.story = story

    def _render_traceback_(self) -> list[str]:
        return self.story


def _cells(shell: Any) -> object:
    """Return the magic that runs cells in one session, which begins with the first of them."""
    session: Any = None

    def grad(line: str, cell: str) -> None:
        """Run the cell in gradsh: statements of the language, and commands. All such cells share a session."""
        nonlocal session
        if session is None:
            from IPython.display import display

            from gradsh.kernel.cells import Cells

            session = Cells(lambda bundle, _: display(bundle, raw=True))
        if line.strip():
            raise CellFailed("", [f"gradsh: %%grad takes no arguments, not {line.strip()!r}"])
        failed = session.run(cell, shell.displayhook.prompt_count, first_line=2)
        if failed is not None:
            raise CellFailed(f"{failed.kind}: {failed.message}", failed.lines)

    return grad


def _magic(shell: Any, name: str) -> object:
    from gradsh.lens import api
    from gradsh.lens.looks import run_line

    def magic(line: str) -> object:
        try:
            return run_line(api.watcher(), f"{name} {line}", shell.user_ns)
        except ProblemError as error:
            print(error.problem.message)  # noqa: T201
        except Exception as error:  # noqa: BLE001  # an expression that a person typed may fail in any way
            print("".join(traceback.format_exception_only(error)), end="")  # noqa: T201
        return None

    magic.__doc__ = f"{find(name).doc} The arguments are those of gradsh's command `{name}`."
    return magic


def _complete(shell: Any, event: Any) -> list[str]:
    """Return the command's options after dashes, else the names of tensors and modules that begin as the word that is typed."""
    import torch

    word = event.line.rpartition(" ")[2]
    if word.startswith("-"):
        name = event.line.split()[0].lstrip("%")
        options = [f"--{one.name.rstrip('_').replace('_', '-')}" for one in find(name).parameters() if one.option]
        dashes = len(word) - len(event.symbol)
        return [one[dashes:] for one in options if one.startswith(word)]
    kinds = torch.Tensor | torch.nn.Module
    return [name for name, value in shell.user_ns.items() if name.startswith(event.symbol) and isinstance(value, kinds)]


def _tell(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> None:
    """Tell the story of a failure of autograd's before the traceback."""
    from gradsh.diagnosis.explain_graph import GRAPH_STORIES
    from gradsh.lens import api
    from gradsh.lens.diagnose import told

    if kind_of(error) in GRAPH_STORIES:
        failed = told(api.watcher(), error.with_traceback(trace))
        print("\n".join(draw(failed.problem, failed.source, Style())))  # noqa: T201
    strip(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
