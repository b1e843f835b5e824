"""The kernel: Jupyter's messages answered by a session. The only file, besides `__main__.py`, that knows ipykernel."""

import sys
from typing import Any

from ipykernel.kernelbase import Kernel

from gradsh.golden.anew import anew
from gradsh.kernel.cells import Cells
from gradsh.render.html import PLAIN
from gradsh.version import PYTORCH_VERSION, __version__


class GradKernel(Kernel):
    """A kernel for cells of the language and commands."""

    implementation = "gradsh"
    implementation_version = __version__
    banner = f"gradsh {__version__} (behaves as PyTorch {PYTORCH_VERSION})"
    language_info = {  # noqa: RUF012  # as ipykernel declares it
        "name": "grad", "version": __version__, "mimetype": "text/x-python", "file_extension": ".grad",
        "pygments_lexer": "grad", "codemirror_mode": {"name": "python", "version": 3},
    }

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.cells = Cells(self._show)
        self.cells.session.writer = anew
        self._asked: list[tuple[int, int, str]] = []
        self._silent = False

    def _show(self, bundle: dict[str, object], is_value: bool) -> None:
        if self._silent:
            return
        content: dict[str, object] = {"data": bundle, "metadata": {}}
        if is_value:
            content["execution_count"] = self.execution_count
        self.send_response(self.iopub_socket, "execute_result" if is_value else "display_data", content)

    def do_execute(
        self, code: str, silent: bool, store_history: bool = True, user_expressions: object = None, allow_stdin: bool = False,
    ) -> dict[str, object]:
        """Run a cell."""
        del user_expressions
        streams: Any = (sys.stdout, sys.stderr)  # ipykernel's own
        for stream in streams:
            stream.set_parent(self.get_parent())
        if store_history:
            self._asked.append((0, self.execution_count, code))
        session = self.cells.session
        session.asker = self._ask if allow_stdin else None
        self._silent = silent
        failed = self.cells.run(code, self.execution_count)
        payload = []
        if session.left is not None:
            session.left = None
            payload.append({"source": "ask_exit", "keepkernel": False})
        reply: dict[str, object] = {"execution_count": self.execution_count}
        if failed is None:
            return {"status": "ok", **reply, "payload": payload, "user_expressions": {}}
        told = {"ename": failed.kind, "evalue": failed.message, "traceback": failed.lines}
        if not silent:
            for stream in streams:
                stream.flush()
            self.send_response(self.iopub_socket, "error", told)
        return {"status": "error", **reply, **told}

    def _ask(self, prompt: str) -> str | None:
        sys.stdout.flush()
        return str(self.raw_input(prompt))

    def do_complete(self, code: str, cursor_pos: int | None = None) -> dict[str, object]:
        """Complete the word at the cursor; what is known of a candidate (its shape, its dtype) stands beside it."""
        cursor = len(code) if cursor_pos is None else cursor_pos
        start, found = self.cells.complete(code, cursor)
        kinds = [{"start": start, "end": cursor, "text": text, "type": about} for text, about in found]
        return {
            "status": "ok", "matches": [text for text, _ in found], "cursor_start": start, "cursor_end": cursor,
            "metadata": {"_jupyter_types_experimental": kinds},
        }

    def do_inspect(
        self, code: str, cursor_pos: int | None, detail_level: int = 0, omit_sections: object = ()
    ) -> dict[str, object]:
        """Tell what `help` tells of the name at the cursor."""
        del detail_level, omit_sections
        text = self.cells.inspect(code, len(code) if cursor_pos is None else cursor_pos)
        return {"status": "ok", "found": bool(text), "data": {PLAIN: text} if text else {}, "metadata": {}}

    def do_is_complete(self, code: str) -> dict[str, object]:
        """Tell whether a cell can be run as it stands."""
        complete, indent = self.cells.is_complete(code)
        return {"status": "complete"} if complete else {"status": "incomplete", "indent": indent}

    def do_history(self, hist_access_type: str, *_: Any, pattern: str = "*", n: int | None = None, **more: Any) -> dict[str, Any]:
        """Return the cells that were run since the kernel began."""
        from fnmatch import fnmatchcase

        found = self._asked
        if hist_access_type == "range":
            found = found[(more.get("start") or 1) - 1 : None if more.get("stop") is None else more["stop"] - 1]
        elif hist_access_type == "search":
            found = [one for one in found if fnmatchcase(one[2], pattern)]
        return {"status": "ok", "history": found[-n:] if n and hist_access_type != "range" else found}

    def do_shutdown(self, restart: bool) -> dict[str, object]:
        """End; a restart is another process."""
        return {"status": "ok", "restart": restart}
