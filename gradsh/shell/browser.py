"""The full screen of `browse`: the log of a graph, a pane for the row at the cursor, and the keys. Only visible rows are drawn."""

from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.styles import Style

from gradsh.commands.browse import lanes_text, row_text
from gradsh.probe.fold import NodeFold
from gradsh.probe.log import FILTERS, GraphLog
from gradsh.render.style import printable, width_of
from gradsh.render.wrap import wrap
from gradsh.runtime.activation import Place

BESIDE = 110
"""Columns from which the pane stands beside the log, not below it."""
PANE_ROWS, PANE_COLUMNS = 9, 48
AROUND = 2
"""Lines of the program above and below the one that made a node."""
PACE = 0.15
"""Seconds for which a node is shown while a pass is played."""
HELP = (
    "↑ ↓ j k          move            PgUp PgDn g G   page, first, last",
    "Enter            fold or unfold  + -             unfold or fold all",
    "/ text Enter     search          n               next match", "f                filter: freed, pinned, large, stale, all",
    "l number Enter   the first node of a line",
    "p                plan: what a backward has run and freed before the cursor", "Space            play the backward, node by node",
    "q Esc Ctrl-C     leave           ?               close this help",
)
STYLES = {
    "title": "reverse", "cursor": "reverse", "live": "ansigreen", "pinned": "ansicyan", "freed": "ansiyellow", "modified": "ansired",
    "here": "bold underline", "dim": "", "pane": "",
}


def _clip(text: str, width: int) -> str:
    text = printable(text)
    return text if width_of(text) <= width else f"{text[: max(1, width - 1)]}…"


class Browser:
    """The state of the screen: where the cursor is, what is shown beside it, what is being typed."""

    def __init__(self, log: GraphLog, place_of: Callable[[Any], Place | None], **parts: Any) -> None:
        self.log = log
        self.place_of = place_of
        self.cursor = self.top = 0
        self.asked = self.typed = self.searched = ""
        self.note = "? keys"
        self.planning = self.helping = self.playing = False
        self._pane: tuple[Any, StyleAndTextTuples] = (None, [])
        """What the pane shows, and for what: of a fold of many nodes it takes a while to tell"""
        self.app: Application[None] = Application(
            layout=self._layout(parts.pop("columns", None)), key_bindings=self._keys(), full_screen=True, style=Style.from_dict(STYLES),
            mouse_support=False, **parts,
        )

    def run(self) -> None:
        """Show the screen until the person leaves."""
        self.app.run()

    def _layout(self, columns: int | None) -> Layout:
        if columns is None:
            from shutil import get_terminal_size

            columns = get_terminal_size().columns
        self.beside = columns >= BESIDE
        self.log_window = Window(FormattedTextControl(self._log_text), wrap_lines=False)
        pane = Window(
            FormattedTextControl(self._pane_text), wrap_lines=False, width=PANE_COLUMNS if self.beside else None,
            height=None if self.beside else PANE_ROWS,
        )
        split: Any = VSplit if self.beside else HSplit
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
        log = self.log
        shown = f" {len(log.nodes):,} nodes, {len(log.units):,} rows, {log.total:,} B saved"
        return [("", shown + (f"  [{log.filter}]" if log.filter != "all" else "") + ("  [plan]" if self.planning else ""))]

    def _status(self) -> StyleAndTextTuples:
        if self.asked:
            return [("class:here", f"{self.asked} {self.typed}_")]
        return [("", f" {min(self.cursor + 1, len(self.log.units)):,}/{len(self.log.units):,}  {self.note}")]

    def _log_text(self) -> StyleAndTextTuples:
        height, width = self._size()
        self.top = min(max(self.top, self.cursor - height + 1), self.cursor)
        out: StyleAndTextTuples = []
        for place, row in enumerate(self.log.rows(self.top, height), self.top):
            lanes = lanes_text(row) + "  " if self.log.filter == "all" else ""
            number = f"{place + 1:>5} " if self.planning else ""
            text = _clip(f"{number}{lanes}{row_text(row)}", width).ljust(width if place == self.cursor else 0)
            style = "class:cursor" if place == self.cursor else f"class:{row.state}" if row.state else ""
            out += [(style, text), ("", "\n")]
        return out or [("", "no node matches; f changes the filter")]

    def _pane_text(self) -> StyleAndTextTuples:
        width = PANE_COLUMNS if self.beside else self._size()[1]
        if self.helping:
            return [("", "\n".join(_clip(line, width) for line in HELP))]
        key = (self.cursor, self.planning, width, id(self.log.place))
        if self._pane[0] != key:
            lines = self._about() if self.log.units else []
            self._pane = (key, [(style, f"{part}\n") for style, text in lines for part in wrap(printable(text), width)])
        return self._pane[1]

    def _about(self) -> list[tuple[str, str]]:
        unit = self.log.units[self.cursor]
        plan = []
        if self.planning:
            ran, freed = self.log.freed_before(self.cursor)
            plan = [("class:here", f"before this row backward would run {ran:,} nodes and free {freed:,} B")]
        if isinstance(unit, NodeFold):
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.log.kinds_of(unit)[:6])
            freed = self.log.freed_in(unit)
            lines = [("", f"{unit.label}: {len(unit.nodes):,} nodes"), ("", kinds)]
            lines += [("class:freed", f"{freed:,} freed")] if freed else []
            leaves = self.log.leaves_of(unit.nodes)
            node = unit.nodes[-1]
        else:
            node, leaves = unit, self.log.leaves_of((unit,))
            module = self.log.paths.of(unit.location)
            lines = [("", f"in {module}")] if module else []
            lines += [(f"class:{one.state}", self._saved(one)) for one in self.log.saved_of(unit)] or [("class:dim", "saves nothing")]
        if leaves:
            lines.append(("", f"leaves: {', '.join(leaves[:6])}" + (f" and {len(leaves) - 6} more" if len(leaves) > 6 else "")))
        return plan + lines + self._source(node)

    @staticmethod
    def _saved(one: Any) -> str:
        held = f", also held by {', '.join(one.held_by[:2])}" if one.held_by else ""
        version = f", version {one.version}" if one.version else ""
        return f"{one.name} {one.shape} {one.dtype} {one.nbytes:,} B {one.state}{version}{held}"

    def _source(self, node: Any) -> list[tuple[str, str]]:
        place = self.place_of(node.location) if node.location is not None else None
        if place is None:
            return []
        first, here = max(place.source.first_line, place.span.line - AROUND), place.span.line
        return [
            ("class:here" if line == here else "class:dim", f"{line:>5} | {place.source.line(line)}")
            for line in range(first, here + AROUND + 1) if line <= here or place.source.line(line)
        ]

    def _play(self) -> None:
        """Go on to the next row while a pass is played."""
        if self.playing and self.app.loop is not None:
            self._go(self.cursor + 1)
            self.playing = self.cursor < len(self.log.units) - 1
            self.app.invalidate()
            self.app.loop.call_later(PACE, self._play)

    # ------------------------------------------------------------------ keys

    def _go(self, place: int) -> None:
        self.cursor = max(0, min(place, len(self.log.units) - 1))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            self._typed(event.data)

        for names, action in self._actions().items():
            for name in names.split():
                self._bind(keys, name, action)
        return keys

    def _bind(self, keys: KeyBindings, name: str, action: Callable[[], None]) -> None:
        @keys.add(*(["escape"] if name == "escape" else [name]), eager=name == "escape")
        def _(event: KeyPressEvent) -> None:
            if self.asked and event.data.isprintable() and name not in {"enter", "backspace", "escape", "c-c"}:
                self.typed += event.data if name != "space" else " "
                return
            self.playing = self.playing and name == "space"
            action()

    def _actions(self) -> dict[str, Callable[[], None]]:
        return {
            "up k": lambda: self._go(self.cursor - 1), "down j": lambda: self._go(self.cursor + 1),
            "pageup": lambda: self._go(self.cursor - self._size()[0]), "pagedown": lambda: self._go(self.cursor + self._size()[0]),
            "g home": lambda: self._go(0), "G end": lambda: self._go(len(self.log.units) - 1), "enter": self._enter,
            "+": lambda: self._fold_all(folded=False), "-": lambda: self._fold_all(folded=True), "f": self._next_filter,
            "/": lambda: self._ask("search:"), "l": lambda: self._ask("line:"), "n": self._search, "p": self._plan,
            "space": self._toggle_play, "?": self._toggle_help, "backspace": self._rub, "q": self.app_exit, "c-c": self.app_exit,
            "escape": self._escape,
        }

    def app_exit(self) -> None:
        """Leave the screen."""
        self.app.exit()

    def _typed(self, text: str) -> None:
        if self.asked and text.isprintable():
            self.typed += text

    def _ask(self, what: str) -> None:
        self.asked, self.typed = what, ""

    def _rub(self) -> None:
        self.typed = self.typed[:-1]

    def _escape(self) -> None:
        if self.asked or self.helping:
            self.asked, self.helping = "", False
        else:
            self.app_exit()

    def _enter(self) -> None:
        asked, self.asked = self.asked, ""
        if asked == "search:":
            self.searched = self.typed
            self._search()
        elif asked == "line:":
            found = self.log.at_line(int(self.typed)) if self.typed.isdigit() else None
            self._found(found, f"no node was made on line {self.typed}")
        elif self.log.units and self.log.filter == "all":
            self._go(self.log.toggle(self.cursor))

    def _search(self) -> None:
        if self.searched:
            self._found(self.log.search(self.searched, self.cursor), f"nothing is called {self.searched}")

    def _found(self, place: int | None, otherwise: str) -> None:
        self.note = otherwise if place is None else "? keys"
        if place is not None:
            self._go(place)

    def _fold_all(self, *, folded: bool) -> None:
        node = self._node()
        self.log.fold_all(folded=folded)
        self._go(self.log.find(node))

    def _node(self) -> Any:
        unit = self.log.units[self.cursor] if self.log.units else self.log.nodes[0]
        return unit.nodes[-1] if isinstance(unit, NodeFold) else unit

    def _next_filter(self) -> None:
        node = self._node()
        self.log.filter = FILTERS[(FILTERS.index(self.log.filter) + 1) % len(FILTERS)]
        self.log.lay_out()
        self._go(self.log.find(node))

    def _plan(self) -> None:
        self.planning = not self.planning

    def _toggle_play(self) -> None:
        self.planning, self.playing = True, not self.playing
        self._play()

    def _toggle_help(self) -> None:
        self.helping = not self.helping
