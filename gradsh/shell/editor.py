"""The prompt of a capable terminal: prompt_toolkit's editor with our colours, completion, keys and status line."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import DynamicStyle, Style

from gradsh.render.text import lines_of
from gradsh.shell.history import HistoryFile
from gradsh.shell.host import Host, loop
from gradsh.shell.keys import KEYS, bindings
from gradsh.shell.lexer import ShellLexer
from gradsh.shell.status import fitted
from gradsh.shell.theme import background, rules
from gradsh.view.shapes import Lines

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer

    from gradsh.shell.candidates import Candidates
    from gradsh.shell.signature import ShownSignature

MORE = "....> "
META = 60
"""How long words on a candidate may be."""


def open_editor(host: Host) -> int:
    """Greet, then read and run statements until the end of input; return the exit status."""
    host.greet()
    editor = Editor(host)
    if host.config.init or host.config.shared:
        host.start()
    if host.has_scripts:
        from gradsh.shell.scripts import begin_with_scripts

        begin_with_scripts(host)
    return loop(host, editor.read)


class Editor:
    """Reads statements. The session is built once the first prompt stands on the screen."""

    def __init__(self, host: Host, **parts: Any) -> None:
        self.host = host
        host.keys = KEYS
        host.asker = self.ask
        host.browser = self.browse
        host.when_ready = self._refresh
        host.reading = self._drop_line
        self._parts = parts
        self._styles: dict[str, Style] = {}
        self._shown: tuple[str, int, ShownSignature | None] = ("", -1, None)
        self.history = ShellHistory(host.history)
        self.prompt = self._session(self.history)
        self.prompt.app.after_render += lambda _: host.begin()

    def _session(self, history: History | None) -> "PromptSession[str]":
        host = self.host
        session: PromptSession[str] = PromptSession(
            self._message, multiline=True, history=history, lexer=ShellLexer(), completer=ShellCompleter(host),
            complete_in_thread=True, complete_while_typing=Condition(lambda: host.setting("complete") == "typing"),
            auto_suggest=Earlier(host), key_bindings=bindings(host, self._help), prompt_continuation=self._more,
            bottom_toolbar=self._toolbar, style=DynamicStyle(self._style), include_default_pygments_style=False,
            enable_suspend=True, mouse_support=False, search_ignore_case=True, tempfile_suffix=".grad",
            color_depth=ColorDepth.DEPTH_1_BIT if background() == "none" else None, reserve_space_for_menu=6, **self._parts,
        )
        return session

    # ------------------------------------------------------------------ reading

    def read(self) -> str | None:
        """Return what is typed next; empty for a line that Ctrl-C dropped, None at the end of input."""
        host = self.host
        self.prompt.editing_mode = EditingMode.VI if host.setting("keys") == "vi" else EditingMode.EMACS
        host.sink.colour = host.setting("theme") != "none"
        try:
            text: str = self.prompt.prompt(handle_sigint=False)
        except KeyboardInterrupt:
            return ""
        except EOFError:
            return None
        if interrupted_ahead(self.prompt.app.input):
            host.note_interrupt()
        return text.rstrip() if "\n" in text else text

    def _drop_line(self) -> bool:
        """Let a Ctrl-C that comes as a signal drop the line; return False where none is being read."""
        app = self.prompt.app
        if app.future is None or app.future.done() or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(lambda: None if app.future is None or app.future.done() else app.exit(exception=KeyboardInterrupt()))
        return True

    def ask(self, prompt: str) -> str | None:
        """Return what is answered to a question of a command's; None at the end of input or Ctrl-C."""
        session = self._session(None)
        try:
            return str(session.prompt([("class:prompt", prompt)], bottom_toolbar=None))
        except (KeyboardInterrupt, EOFError):
            return None

    def browse(self, log: Any, passes: Any) -> None:
        """Show the log of a graph on the whole screen."""
        from gradsh.shell.browser import Browser

        Browser(log, self.host.session.state.place_of, passes, rules(str(self.host.setting("theme")))).run()

    # ------------------------------------------------------------------ what is drawn

    def _message(self) -> StyleAndTextTuples:
        return [("class:prompt", str(self.host.setting("prompt")))]

    def _more(self, width: int, _line: int, wraps: int) -> StyleAndTextTuples:
        """The prompt of a further line; a line that the terminal wraps goes on below blanks."""
        return [("class:prompt", "" if not width else " " * width if wraps else MORE.rjust(width)[-width:])]

    def _style(self) -> Style:
        theme = str(self.host.setting("theme"))
        if theme not in self._styles:
            self._styles[theme] = Style.from_dict(rules(theme))
        return self._styles[theme]

    def _toolbar(self) -> StyleAndTextTuples | None:
        """The signature of the call at the cursor, what its operation saves, else the status."""
        host = self.host
        shown = self._signature() if host.ready and host.setting("signature") else None
        if shown is not None:
            from gradsh.shell.signature import clipped

            shown = clipped(shown, self.prompt.app.output.get_size().columns - 2)
            text: StyleAndTextTuples = [
                ("", f" {shown.before}"), ("class:signature.here", shown.here), ("", shown.after),
            ]
            return [*text, ("class:status", f"  {shown.saves}")] if shown.saves else text
        if not host.status or not host.setting("status"):
            return None
        return [("class:status", f" {fitted(host.status, self.prompt.app.output.get_size().columns - 1)}")]

    def _signature(self) -> "ShownSignature | None":
        document = self.prompt.default_buffer.document
        text, cursor = document.text, document.cursor_position
        if self._shown[:2] != (text, cursor):
            from gradsh.shell.signature import shown_for

            try:
                shown = shown_for(self.host.session, document.text_before_cursor, document.text_after_cursor)
            except Exception:  # noqa: BLE001  # half-typed text is never an error
                shown = None
            self._shown = (text, cursor, shown)
        return self._shown[2]

    def _refresh(self) -> None:
        """Draw once more: what needed the session can be shown now."""
        app = self.prompt.app
        if app.is_running:
            with suppress(RuntimeError):  # it has ended since
                app.invalidate()

    def _help(self, name: str) -> None:
        """Show help for a name (for none: the overview)."""
        from gradsh.commands.help import about, run

        state = self.host.session.state
        lines = about(state, name) if name else list(run(state).lines)
        told = Lines(tuple(lines or [f"there is no help for {name}; `help` lists the commands"]))
        sink = self.host.sink
        sink.refresh()
        sink.show("".join(f"{line}\n" for line in lines_of(told, sink.style)))


def interrupted_ahead(keyboard: Input) -> bool:
    """Whether Ctrl-C was pressed behind Enter while the terminal still gave it as a key; what follows it is read next."""
    keys = [*get_typeahead(keyboard), *keyboard.read_keys()]
    last = max((at for at, key in enumerate(keys) if key.key == Keys.ControlC), default=-1)
    store_typeahead(keyboard, keys[last + 1 :])
    return last >= 0


class ShellHistory(History):
    """prompt_toolkit's view of the history file."""

    def __init__(self, file: HistoryFile) -> None:
        super().__init__()
        self.file = file

    def load_history_strings(self) -> Iterable[str]:
        """Yield the entries, newest first."""
        return reversed(self.file.load())

    def store_string(self, string: str) -> None:
        """Keep an entry."""
        self.file.append(string)


class Earlier(AutoSuggest):
    """Suggests the rest of the latest entry that begins as the line does, and that did not fail."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def get_suggestion(self, buffer: "Buffer", document: Document) -> Suggestion | None:
        """Return the rest of an entry, if one fits."""
        text = document.text
        if not text.strip() or "\n" in text or not self.host.setting("suggestions"):
            return None
        failed = self.host.history.failed
        for entry in reversed(buffer.history.get_strings()):
            if entry.startswith(text) and entry != text and entry not in failed and "\n" not in entry:
                return Suggestion(entry[len(text) :])
        return None


class ShellCompleter(Completer):
    """prompt_toolkit's view of the candidates; asked in a thread."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._candidates: Candidates | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what may stand at the cursor; nothing before the session is there, unless a person asks."""
        if not self.host.ready and not complete_event.completion_requested:
            return
        if self._candidates is None:
            from gradsh.shell.candidates import Candidates

            self._candidates = Candidates(self.host.session)
        word, found = self._candidates.at(document.text_before_cursor, complete_event.completion_requested)
        for one in found:
            yield Completion(one.text, -len(word), display=one.shown or None, display_meta=_quietly(one.meta))


def _quietly(meta: Callable[[], str]) -> Callable[[], str]:
    """The words on a candidate; none where finding them fails."""

    def words() -> str:
        try:
            text = meta()
            return text if len(text) <= META else text[: META - 3] + "..."
        except Exception:  # noqa: BLE001  # it is only shown
            return ""

    return words
