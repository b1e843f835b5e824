"""The full screen of `browse`: the log of a graph or the program's lines, a pane for the row at the cursor, and the keys.

Only visible rows are drawn. The screen has a thread of its own; the main thread runs a backward that is asked for there.
"""

from collections.abc import Callable
from contextvars import copy_context
from queue import Queue
from threading import Lock, Thread
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType
from prompt_toolkit.styles import Style

from gradsh.commands.browse import TargetPasses, lanes_text, row_text
from gradsh.commands.walking import step_lines
from gradsh.commands.words import count
from gradsh.engine.graph.node import Node
from gradsh.probe.fold import NodeFold
from gradsh.probe.log import FILTERS, GraphLog
from gradsh.render.style import printable
from gradsh.render.wrap import wrap
from gradsh.runtime.activation import Place
from gradsh.shell.browser_pass import BrowsedPass
from gradsh.shell.lexer import clip, clipped, coloured, underlined
from gradsh.text.span import Source

BESIDE = 110
"""Columns from which the pane stands beside the log, not below it."""
PANE_ROWS, PANE_COLUMNS = 9, 48
AROUND = 2
"""Lines of the program above and below the one that made a node."""
WHEEL = 3
"""Rows that a turn of the wheel moves."""
HELP = (
    "↑ ↓ j k PgUp PgDn g G   move; first, last",
    "Enter   fold or unfold a row; + - unfold or fold all",
    "/       search: text, Enter; n next match",
    "f       filter: freed, pinned, large, stale, all",
    "Tab     the program's lines and back; Enter there: the line's first node",
    "l       the first node of a line: number, Enter",
    "p       plan: number the rows, count what a backward would have freed",
    "b       run a backward, a node at a time; leaving takes it back. Then:",
    "        s next, u one back, c to the cursor, r to the end, a take it back",
    "Space   play the backward, or pause it",
    "m       mouse on or off: a click selects, another unfolds, the wheel scrolls",
    "q Esc Ctrl-C   leave; ? close this help",
)
STYLES = {
    "title": "reverse", "cursor": "reverse", "live": "ansigreen", "pinned": "ansicyan", "freed": "ansiyellow", "modified": "ansired",
    "here": "bold underline", "dim": "", "pane": "",
}


class _LogControl(FormattedTextControl):
    """The rows of the log, which a mouse may point at."""

    def __init__(self, text: Callable[[], StyleAndTextTuples], pointed: Callable[[MouseEvent], None]) -> None:
        super().__init__(text)
        self.pointed = pointed

    def mouse_handler(self, mouse_event: MouseEvent) -> None:
        """Take a click or a turn of the wheel."""
        self.pointed(mouse_event)


class Browser:
    """The state of the screen: where the cursor is, what is shown beside it, what is being typed."""

    def __init__(
        self, log: GraphLog, place_of: Callable[[Any], Place | None], passes: TargetPasses, theme: dict[str, str], **parts: Any,
    ) -> None:
        self.log = log
        self.place_of = place_of
        self.passes = passes
        self.cursor = self.top = 0
        self.asked = self.typed = self.searched = ""
        self.note = "? keys"
        self.planning = self.helping = False
        self.mouse = True
        self.source: Source | None = None
        """The program whose lines are shown in the place of the log"""
        self.line = 1
        self.lines: dict[int, tuple[int, int]] = {}
        self._pane: tuple[Any, StyleAndTextTuples] = (None, [])
        """What the pane shows, and for what: of a fold of many nodes it takes a while to tell"""
        self._lock = Lock()
        self._asked: Queue[Callable[[], None] | None] = Queue()
        """What the main thread is to do; None ends the screen"""
        self.stepper = BrowsedPass(self._lock, self._changed)
        self.stepper.last = log.nodes[-1].seq
        self.app: Application[None] = Application(
            layout=self._layout(parts.pop("columns", None)), key_bindings=self._keys(), full_screen=True,
            style=Style.from_dict(theme | STYLES), mouse_support=Condition(lambda: self.mouse), **parts,
        )

    def run(self) -> None:
        """Show the screen until the person leaves."""
        failed: list[BaseException] = []

        def show() -> None:
            try:
                self.app.run(handle_sigint=False)
            except BaseException as error:  # noqa: BLE001  # raised where the screen was asked for
                failed.append(error)
            finally:
                self.stepper.order("abort")
                self._asked.put(None)

        screen = Thread(target=copy_context().run, args=(show,), daemon=True)
        screen.start()
        while (asked := self._asked.get()) is not None:
            asked()
            self.app.invalidate()
        screen.join()
        if failed:
            raise failed[0]

    def _run_pass(self) -> None:
        """Run a backward, in the thread that runs the program; it is taken back at its end."""
        self.stepper.begin(0)
        with self._lock:
            try:
                self.note = self.passes.run(self.stepper) or "the backward was taken back"
            finally:
                self.stepper.running = self.stepper.playing = False
                self._changed([])

    def _foretell(self) -> None:
        """Tell what a backward would do; of a large graph that takes a while, in which the screen goes on."""
        self.note = self.passes.foretell()

    def _changed(self, nodes: list[Node]) -> None:
        """Look again at what nodes save, which have just run (none: at all), and go to the last."""
        self.log.look_again(nodes or self.log.nodes)
        self._pane = (None, [])
        if nodes:
            self._go(self.log.find(nodes[-1]))
            self.note = "s next  u back  c to the cursor  r rest  a take back  Space play"
        self.app.invalidate()

    def _layout(self, columns: int | None) -> Layout:
        if columns is None:
            from shutil import get_terminal_size

            columns = get_terminal_size().columns
        self.beside = columns >= BESIDE
        self.log_window = Window(_LogControl(self._main_text, self._pointed), wrap_lines=False)
        pane = Window(
            FormattedTextControl(self._pane_text), wrap_lines=False, width=PANE_COLUMNS if self.beside else None,
            height=None if self.beside else PANE_ROWS,
        )
        split = VSplit if self.beside else HSplit
        rule = Window(width=1, char="│") if self.beside else Window(height=1, char="─")
        title = Window(FormattedTextControl(self._title), height=1, style="class:title")
        status = Window(FormattedTextControl(self._status), height=1)
        return Layout(HSplit([title, split([self.log_window, rule, pane]), status]))

    # ------------------------------------------------------------------ what is drawn

    def _size(self) -> tuple[int, int]:
        """Return the rows and columns of the log."""
        size = self.app.output.get_size()
        return (size.rows - 2, size.columns - PANE_COLUMNS - 1) if self.beside else (size.rows - 3 - PANE_ROWS, size.columns)

    def _title(self) -> StyleAndTextTuples:
        log, ran = self.log, self.stepper.number
        shown = f" {len(log.nodes):,} nodes, {len(log.units):,} rows, {log.total:,} B saved"
        parts = [f"[{log.filter}]"] if log.filter != "all" else []
        parts += ["[plan]"] if self.planning else []
        if self.stepper.running and ran:
            parts.append(f"[backward: {count(ran, 'node')} run{', over' if self.stepper.over else ''}]")
        return [("", "  ".join([shown, *parts]))]

    def _status(self) -> StyleAndTextTuples:
        if self.asked:
            return [("class:here", f"{self.asked} {self.typed}_")]
        place = f"line {self.line}" if self.source is not None else f"{min(self.cursor + 1, len(self.log.units)):,}/{len(self.log.units):,}"
        return [("", clip(f" {place}  {self.note}", self.app.output.get_size().columns))]

    def _main_text(self) -> StyleAndTextTuples:
        with self._lock:
            if self.helping:
                return [("", "\n".join(clip(line, self._size()[1]) for line in HELP))]
            return self._log_text() if self.source is None else self._lines_text(self.source)

    def _log_text(self) -> StyleAndTextTuples:
        height, width = self._size()
        self.top = min(max(self.top, self.cursor - height + 1), self.cursor)
        out: StyleAndTextTuples = []
        for place, row in enumerate(self.log.rows(self.top, height), self.top):
            lanes = lanes_text(row) + "  " if self.log.filter == "all" else ""
            number = f"{place + 1:>5} " if self.planning else ""
            text = clip(f"{number}{lanes}{row_text(row)}", width).ljust(width if place == self.cursor else 0)
            style = "class:cursor" if place == self.cursor else f"class:{row.state}" if row.state else ""
            out += [(style, text), ("", "\n")]
        return out or [("", "no node matches; f changes the filter")]

    def _lines_text(self, source: Source) -> StyleAndTextTuples:
        """Draw the program: how many nodes each line made, what they save, and the line."""
        height, width = self._size()
        last = source.first_line + len(source.lines) - 1
        first = max(source.first_line, min(self.line - height // 2, last - height + 1))
        out: StyleAndTextTuples = []
        for line in range(first, min(first + height, last + 1)):
            number, size = self.lines.get(line, (0, 0))
            made = f"{number:>6,} {size:>11,} B" if number else " " * 20
            here = "class:cursor" if line == self.line else ""
            out += [(here, f"{made} {line:>5} | "), *clipped(coloured(source.line(line)), width - 29), ("", "\n")]
        return out

    def _pane_text(self) -> StyleAndTextTuples:
        width = PANE_COLUMNS if self.beside else self._size()[1]
        with self._lock:
            key = (self.cursor, self.planning, width, id(self.log.place))
            if self._pane[0] != key:
                found: StyleAndTextTuples = []
                for style, text in self._about() if self.log.units else []:
                    found += [(style, f"{part}\n") for part in wrap(printable(text), width)]
                self._pane = (key, found + (self._source(self._node(), width) if self.log.units else []))
            return self._pane[1]

    def _about(self) -> list[tuple[str, str]]:
        unit = self.log.units[self.cursor]
        lines = []
        if self.planning:
            ran, freed = self.log.freed_before(self.cursor)
            lines.append(("class:here", f"before this row backward would run {ran:,} nodes and free {freed:,} B"))
        node = self.stepper.node
        if self.stepper.running and self.stepper.step is not None and node is not None and self.log.find(node) == self.cursor:
            return lines + [("class:here" if place == 0 else "", line) for place, line in enumerate(step_lines(self.stepper.step))]
        if isinstance(unit, NodeFold):
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.log.kinds_of(unit)[:6])
            freed = self.log.freed_in(unit)
            lines += [("", f"{unit.label}: {len(unit.nodes):,} nodes"), ("", kinds)]
            lines += [("class:freed", f"{freed:,} freed")] if freed else []
        else:
            module = self.log.paths.of(unit.location)
            lines += [("", f"in {module}")] if module else []
            lines += [(f"class:{one.state}", self._saved(one)) for one in self.log.saved_of(unit)] or [("class:dim", "saves nothing")]
        if leaves := self.log.leaves_of(unit):
            lines.append(("", f"leaves: {', '.join(leaves[:6])}" + (f" and {len(leaves) - 6} more" if len(leaves) > 6 else "")))
        return lines

    @staticmethod
    def _saved(one: Any) -> str:
        held = f", also held by {', '.join(one.held_by[:2])}" if one.held_by else ""
        version = f", version {one.version}" if one.version else ""
        return f"{one.name} {one.shape} {one.dtype} {one.nbytes:,} B {one.state}{version}{held}"

    def _place(self, node: Node) -> Place | None:
        return self.place_of(node.location) if node.location is not None else None

    def _source(self, node: Node, width: int) -> StyleAndTextTuples:
        """Draw the line that made a node, its expression underlined, between its neighbours."""
        place = self._place(node)
        if place is None:
            return []
        source, span = place.source, place.span
        out: StyleAndTextTuples = []
        for line in range(max(source.first_line, span.line - AROUND), span.line + AROUND + 1):
            if line <= span.line or source.line(line):
                fragments: object = coloured(printable(source.line(line)))
                if line == span.line:
                    fragments = underlined(fragments, span.column - 1, span.end_column - 1 if span.end_line == span.line else None)
                out += [("bold" if line == span.line else "", f"{line:>5} | "), *clipped(fragments, width - 8), ("", "\n")]
        return out

    # ------------------------------------------------------------------ keys and the mouse

    def _go(self, place: int) -> None:
        self.cursor = max(0, min(place, len(self.log.units) - 1))

    def _move(self, rows: int) -> None:
        if self.source is not None:
            first = self.source.first_line
            self.line = max(first, min(self.line + rows, first + len(self.source.lines) - 1))
        else:
            self._go(self.cursor + rows)

    def _pointed(self, event: MouseEvent) -> None:
        with self._lock:
            if event.event_type in {MouseEventType.SCROLL_UP, MouseEventType.SCROLL_DOWN}:
                self._move(WHEEL if event.event_type == MouseEventType.SCROLL_DOWN else -WHEEL)
            elif event.event_type == MouseEventType.MOUSE_UP and self.source is None and not self.helping:
                place = self.top + event.position.y
                if place == self.cursor:
                    self._enter()
                elif place < len(self.log.units):
                    self._go(place)

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            if self.asked and event.data.isprintable():
                self.typed += event.data

        for names, action in self._actions().items():
            for name in names.split():
                self._bind(keys, name, action)
        return keys

    def _bind(self, keys: KeyBindings, name: str, action: Callable[[], None]) -> None:
        @keys.add(name, eager=name == "escape")
        def _(event: KeyPressEvent) -> None:
            if self.asked and event.data.isprintable() and name not in {"enter", "backspace", "escape", "c-c"}:
                self.typed += event.data if name != "space" else " "
                return
            with self._lock:
                action()

    def _actions(self) -> dict[str, Callable[[], None]]:
        far = 1 << 40
        return {
            "up k": lambda: self._move(-1), "down j": lambda: self._move(1), "pageup": lambda: self._move(-self._size()[0]),
            "pagedown": lambda: self._move(self._size()[0]), "g home": lambda: self._move(-far), "G end": lambda: self._move(far),
            "enter": self._enter, "+": lambda: self._fold_all(folded=False), "-": lambda: self._fold_all(folded=True),
            "f": self._next_filter, "/": lambda: self._ask("search:"), "l": lambda: self._ask("line:"), "n": self._search,
            "p": self._plan, "tab": self._toggle_source, "b": self._begin_pass, "space": self._play, "m": self._toggle_mouse,
            "s": lambda: self._order("step"), "u": lambda: self._order("back"), "r": lambda: self._order("rest"),
            "a": lambda: self._order("abort"), "c": self._run_to_cursor, "?": self._toggle_help, "backspace": self._rub,
            "q": self.app_exit, "c-c": self.app_exit, "escape": self._escape,
        }

    def app_exit(self) -> None:
        """Leave the screen."""
        self.app.exit()

    def _ask(self, what: str) -> None:
        self.asked, self.typed = what, ""

    def _rub(self) -> None:
        self.typed = self.typed[:-1]

    def _escape(self) -> None:
        if self.asked or self.helping or self.source is not None:
            self.asked, self.helping, self.source = "", False, None
        else:
            self.app_exit()

    def _enter(self) -> None:
        asked, self.asked = self.asked, ""
        if asked == "search:":
            self.searched = self.typed
            self._search()
        elif asked == "line:":
            self._to_line(int(self.typed) if self.typed.isdigit() else 0)
        elif self.source is not None:
            self._to_line(self.line)
        elif self.log.units and self.log.filter == "all":
            self._go(self.log.toggle(self.cursor))

    def _to_line(self, line: int) -> None:
        if self._found(self.log.at_line(line), f"no node was made on line {line}"):
            self.source = None

    def _search(self) -> None:
        if self.searched:
            self._found(self.log.search(self.searched, self.cursor), f"nothing is called {self.searched}")

    def _found(self, place: int | None, otherwise: str) -> bool:
        self.note = otherwise if place is None else "? keys"
        if place is not None:
            self._go(place)
        return place is not None

    def _fold_all(self, *, folded: bool) -> None:
        node = self._node()
        self.log.fold_all(folded=folded)
        self._go(self.log.find(node))

    def _node(self) -> Node:
        unit = self.log.units[self.cursor] if self.log.units else self.log.nodes[0]
        return unit.nodes[-1] if isinstance(unit, NodeFold) else unit

    def _next_filter(self) -> None:
        node = self._node()
        self.log.filter = FILTERS[(FILTERS.index(self.log.filter) + 1) % len(FILTERS)]
        self.log.lay_out()
        self._go(self.log.find(node))

    def _toggle_source(self) -> None:
        place = self._place(self._node())
        if self.source is not None or place is None:
            self.source = None
            self.note = "? keys" if place is not None else "no line of the program made this node"
            return
        self.source, self.line, self.lines = place.source, place.span.line, self.log.by_line()

    def _toggle_mouse(self) -> None:
        self.mouse = not self.mouse
        self.note = f"mouse {'on' if self.mouse else 'off'}"

    def _toggle_help(self) -> None:
        self.helping = not self.helping

    # ------------------------------------------------------------------ backwards

    def _plan(self) -> None:
        self.planning = not self.planning
        if self.planning and self._has_targets():
            self.note = "counting what a backward would do"
            self._asked.put(self._foretell)

    def _has_targets(self) -> bool:
        if not self.passes.targets:
            self.note = "name a tensor to plan or run its backward: `browse z`"
        return bool(self.passes.targets)

    def _begin_pass(self) -> None:
        if not self.stepper.running and self._has_targets():
            self.stepper.orders, self.stepper.running = Queue(), True
            self._asked.put(self._run_pass)

    def _play(self) -> None:
        if self.stepper.running:
            self._order("play")
        else:
            self.stepper.playing = True
            self._begin_pass()

    def _order(self, what: str) -> None:
        if self.stepper.running:
            self.stepper.order(what)
        else:
            self.note = "b runs a backward, one node at a time"

    def _run_to_cursor(self) -> None:
        goal, now = self._node(), self.stepper.node
        if self.stepper.running and now is not None and goal.seq >= now.seq:
            self.note = "this node has run; u goes one back"
            return
        self.stepper.goal = goal.seq
        self._order("goal")
