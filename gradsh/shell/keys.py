"""The keys of the editor beyond prompt_toolkit's own, and the list that `help keys` shows."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from gradsh.language.paste import clean
from gradsh.shell.context import context, first_line

if TYPE_CHECKING:
    from gradsh.shell.host import Host

KEYS = (
    ("Enter", "run a complete statement, else start a new line; an empty line ends a block"),
    ("Alt-Enter", "run the input as it is"),
    ("Ctrl-O", "start a new line"),
    ("Tab / Shift-Tab", "complete, select the next or previous one; at the start of a line: indent, unindent"),
    ("Up / Down", "line above or below, then earlier statements that begin with the typed text"),
    ("Ctrl-R", "search the history backwards"),
    ("Right / Ctrl-E", "accept the grey suggestion; Alt-F one word of it"),
    ("F1", "show help for the name at the cursor"),
    ("F2 / Ctrl-X Ctrl-E", "edit in $EDITOR"),
    ("Ctrl-C", "discard the line; while a statement runs: interrupt it"),
    ("Ctrl-D", "quit, on an empty line"),
    ("Ctrl-Z", "suspend; `fg` resumes"),
    ("Ctrl-L", "clear the screen"),
    ("Ctrl-_", "undo typing (the command `undo` takes back statements)"),
)
INDENT = 4
_ENDS = re.compile(r"\s*(return|pass|break|continue|raise)\b")
_PROMPTS = re.compile(r"\s*(grad>|>>>|In ?\[\d+\]:)")
_WORD = re.compile(r"[\w.]+$")


def bindings(host: "Host", show_help: Callable[[str], None]) -> KeyBindings:
    """Return the keys; `show_help` shows the help for a name."""
    keys = KeyBindings()
    editing = has_focus(DEFAULT_BUFFER)
    in_margin = Condition(_in_margin)

    @keys.add("enter", filter=editing)
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif finished(host, buffer):
            buffer.validate_and_handle()
        else:
            new_line(buffer)

    @keys.add("c-o", filter=editing)
    def another_line(event: KeyPressEvent) -> None:
        new_line(event.current_buffer)

    @keys.add("tab", filter=editing & in_margin)
    def indent(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.insert_text(" " * (INDENT - buffer.document.cursor_position_col % INDENT))

    @keys.add("tab", filter=editing & ~in_margin)
    def complete(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    @keys.add("s-tab", filter=editing)
    def back(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.complete_previous()
        elif _in_margin():
            dedent(buffer)

    @keys.add("backspace", filter=editing & in_margin)
    def backspace(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.cursor_position_col:
            dedent(buffer)
        else:
            buffer.delete_before_cursor()

    _add_others(keys, host, show_help)
    return keys


def _add_others(keys: KeyBindings, host: "Host", show_help: Callable[[str], None]) -> None:
    editing = has_focus(DEFAULT_BUFFER)

    @keys.add("escape", "enter", filter=editing)
    def submit(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    recall = Recall()

    @keys.add("up", filter=editing & ~vi_navigation_mode)
    @keys.add("escape", "up", filter=editing)
    def earlier(event: KeyPressEvent) -> None:
        recall.go(event.current_buffer, -1)

    @keys.add("down", filter=editing & ~vi_navigation_mode)
    @keys.add("escape", "down", filter=editing)
    def later(event: KeyPressEvent) -> None:
        recall.go(event.current_buffer, 1)

    @keys.add("f1")
    def explain(event: KeyPressEvent) -> None:
        name = name_at(event.current_buffer)
        run_in_terminal(lambda: show_help(name))

    @keys.add("f2", filter=editing)
    @keys.add("c-x", "c-e", filter=editing & ~vi_navigation_mode)
    def edit(event: KeyPressEvent) -> None:
        event.current_buffer.open_in_editor()

    @keys.add(Keys.BracketedPaste, filter=editing)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(unprompted(event.data))


def finished(host: "Host", buffer: Buffer) -> bool:
    """Whether Enter runs what is typed: it is complete, and the cursor is not in the midst of several lines."""
    document = buffer.document
    text = document.text
    if "\n" in text and document.text_after_cursor.strip():
        return False
    if document.is_cursor_at_the_end or "\n" not in text or not document.text_after_cursor.strip():
        stripped = text.rstrip(" \t")
        recalled = "\n" in text and text in buffer.history.get_strings()  # a block from the history needs no empty line
        return not text.strip() or text.strip().endswith("?") or recalled or host.is_complete(stripped)
    return False


def new_line(buffer: Buffer) -> None:
    """Begin a new line, indented as its place asks for."""
    line = buffer.document.current_line_before_cursor
    first = first_line(buffer.document.text_before_cursor)
    margin = len(first) - len(first.lstrip(" "))
    code = line.partition("#")[0].rstrip()
    if code.endswith((":", "(", "[", "{")):
        margin += INDENT
    elif _ENDS.match(code):
        margin = max(0, margin - INDENT)
    buffer.insert_text("\n" + " " * margin)


def dedent(buffer: Buffer) -> None:
    """Take back blanks before the cursor, to the stop before it."""
    column = buffer.document.cursor_position_col
    buffer.delete_before_cursor((column - 1) % INDENT + 1 if column else 0)


class Recall:
    """Goes through the entries of the history that begin as what was typed, which stays what is looked for meanwhile."""

    def __init__(self) -> None:
        self.shown = self.typed = ""

    def go(self, buffer: Buffer, step: int) -> None:
        """Go a line, or an entry, up (-1) or down (1)."""
        document = buffer.document
        rows = document.cursor_position_row if step < 0 else document.line_count - 1 - document.cursor_position_row
        menu = buffer.complete_state
        chosen = menu is not None and (menu.current_completion is not None or step > 0)  # Up passes by a menu nobody entered
        if chosen or (rows and buffer.text != self.shown):
            (buffer.auto_up if step < 0 else buffer.auto_down)()
            return
        start = buffer.working_index
        if buffer.text != self.shown or not buffer.text:
            self.typed = document.text_before_cursor
            start = len(buffer._working_lines) - 1 if step < 0 else start
        place = start + step
        while 0 <= place < len(buffer._working_lines):  # prompt_toolkit has no public way to look without going there
            entry = buffer._working_lines[place]
            if entry.startswith(self.typed) and entry != buffer.text:
                buffer.go_to_history(place)
                buffer.cursor_position = len(buffer.text)
                self.shown = buffer.text
                return
            place += step


def name_at(buffer: Buffer) -> str:
    """Return the dotted name that the cursor is in or behind; of the call it is in, where it touches none."""
    document = buffer.document
    after = re.match(r"\w*", document.text_after_cursor)
    before = _WORD.search(document.current_line_before_cursor)
    name = (before[0] if before else "") + (after[0] if after else "")
    if name.strip("."):
        return name.strip(".")
    call = context(document.text_before_cursor).call
    return ".".join(text for kind, text in call.callee if kind in {"name", "attribute"}) if call else ""


def unprompted(text: str) -> str:
    """Return pasted text with plain line ends; of a transcript, its statements."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    first = next((line for line in text.split("\n") if line.strip()), "")
    if not _PROMPTS.match(first):
        return text
    cleaned, _ = clean(text)
    return "\n".join(line for line in cleaned.split("\n") if line.strip()) + ("\n" if text.rstrip(" ").endswith("\n") else "")


def _in_margin() -> bool:
    """Whether only blanks stand before the cursor on its line, and some line is begun."""
    from prompt_toolkit.application import get_app

    document = get_app().current_buffer.document
    line = document.current_line_before_cursor
    return not line.strip() and (bool(line) or document.cursor_position_row > 0)
