"""What both prompts share: the session (built while the person looks at the first prompt), settings, history, status."""

import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from gradsh.process import sandbox
from gradsh.process.files import write_whole
from gradsh.process.limits import changed
from gradsh.render.wrap import wrap
from gradsh.run.script import Interruptible, RunOptions, collect_again, prepare
from gradsh.shell.asked import asked, is_unfinished
from gradsh.shell.config import Config, read_config, state_folder
from gradsh.shell.history import HistoryFile
from gradsh.shell.output import ShellSink
from gradsh.shell.status import status_of
from gradsh.version import PYTORCH_VERSION, __version__

if TYPE_CHECKING:
    from gradsh.contracts.state import Entry
    from gradsh.session.session import Session

NAME = "<shell>"
Writer = Callable[[str, int, str], str]
GREETING = (
    "gradsh {version} for PyTorch {pytorch}. Paste a snippet, or type:",
    "tour, help, x = ones(2, requires_grad=True)",
)


class Host:
    """The shell without its editor. `writer` serves `save --expect` and `save FILE.html`."""

    def __init__(self, options: RunOptions, writer: Writer | None = None, *, plain: bool = False) -> None:
        prepare()
        self.options = options
        self.writer = writer
        self.plain = plain
        self.config: Config = read_config()
        self.keys: tuple[tuple[str, str], ...] = ()
        self.folder = state_folder()
        """Where it writes; asked once, since a sandbox drops the environment."""
        self.history = HistoryFile(self.folder / "history")
        sandbox.own(str(self.folder))
        if options.limits.sandbox == "on":  # now, as no other thread runs yet
            changed(options.limits, "sandbox", "on")
        self.sink = ShellSink(plain, lambda: not plain and bool(self.setting("pager")))
        self.asker: Callable[[str], str | None] | None = None
        self.browser: Callable[[object, object], None] | None = None
        self.line = 1
        self.status = ""
        self.interrupted = False
        """Whether Ctrl-C came between Enter and the running of what was typed."""
        self._after_block = False
        """Whether what was typed last was a block, or lines that may have been meant for it."""
        self.reading: Callable[[], bool] = lambda: False
        """Set by the editor: drops the line that is being read; False where there is none."""
        self.when_ready: Callable[[], None] = lambda: None
        self._session: Session | None = None
        self._error: BaseException | None = None
        self._ready = threading.Event()
        self._builder: threading.Thread | None = None

    # ------------------------------------------------------------------ the session

    @property
    def ready(self) -> bool:
        """Whether the session is there; asking for it before waits."""
        return self._ready.is_set()

    @property
    def session(self) -> "Session":
        """The session, built on first use if `begin` has not."""
        self.begin()
        self._ready.wait()
        if self._session is None:
            raise self._error or RuntimeError("the session could not be built")
        return self._session

    def begin(self) -> None:
        """Start to build the session, in a thread: numpy is imported while the person reads."""
        if self._builder is None:
            self._builder = threading.Thread(target=self._build, daemon=True)
            self._builder.start()

    def _build(self) -> None:
        try:
            from gradsh.session.session import Session

            collect_again()
            warnings.showwarning = lambda *_, **__: None  # where no statement runs, nobody asked for Python's warnings
            session = Session(self.options.seed, limits=self.options.limits, typed=True)
            self._adorn(session)
            self._session = session
        except BaseException as error:  # noqa: BLE001  # told by whoever asks for the session
            self._error = error
        self._ready.set()
        self.when_ready()

    def _adorn(self, session: "Session") -> None:
        """Give a session what the shell adds: settings, their meanings, somebody to ask."""
        session.asker = self._ask if self.asker is not None else None
        session.browser = self.browser
        session.writer = self.writer
        session.rescue = lambda: self._rescue(session)
        session.when_stuck = lambda line, reason: self._end_stuck(session, line, reason)
        session.plain = self.plain
        settings = session.state.settings
        self.config.values = settings.values = {**settings.values, "hints": True, **self.config.values}
        if self.options.top:
            settings.values["top"] = True
        settings.keys = self.keys

    def _rescue(self, session: "Session") -> tuple[str, str]:
        """Where the session's statements go when the process has to be ended, and the script that they make."""
        from gradsh.commands.save import script_of

        return str(self.folder / "last.grad"), script_of(session.state, failed=False)[0]

    def _end_stuck(self, session: "Session", line: int, reason: str) -> None:
        """End the process, which is in a call that nothing can stop, once the session is saved."""
        from gradsh.process.watchdog_process import rescued

        try:
            self.sink.out.flush()
            os.write(2, f"\nerror[limit]: {reason}\n  line {line}\n{rescued(*self._rescue(session))}".encode())
        finally:
            os._exit(1)

    def _ask(self, prompt: str) -> str | None:
        self.sink.out.flush()
        return self.asker(prompt) if self.asker is not None else None

    def setting(self, name: str) -> object:
        """Return the value of a setting of the shell's, as it is now."""
        return self.config.values[name]

    # ------------------------------------------------------------------ running

    def greet(self) -> None:
        """Say what to type, and what is wrong with the configuration."""
        self.sink.refresh()
        for line in () if self.has_scripts else GREETING:
            where, style = (self.sink.out, self.sink.style) if self.sink.out.isatty() else (self.sink.err, self.sink.err_style)
            told = wrap(line.format(version=__version__, pytorch=PYTORCH_VERSION), style.width)
            where.write("".join(f"{part}\n" for part in told))
        for problem in self.config.problems:
            self.sink.err.write(f"warning: {problem}\n")
        self.sink.out.flush()
        self.sink.err.flush()

    def start(self) -> None:
        """Follow what the configuration has scripts do: its settings, and `init.grad`."""
        text = "".join(f"set {key} {value}\n" for key, value in self.config.shared.items())
        if text:
            self._run(text, "config.toml", lambda _: None)
        if self.config.init:
            self._run(self.config.init, "init.grad", self.sink)

    @property
    def has_scripts(self) -> bool:
        """Whether the command line names scripts to begin with."""
        return bool(self.options.files) or self.options.code is not None

    def run_script(self, text: str, name: str, first_line: int = 1) -> bool:
        """Run a script, or a part of one that begins at a line; return whether every statement passed."""
        self.session.about = self.session.about or name
        return self._run(text, name, self.sink, first_line)

    def is_complete(self, text: str) -> bool:
        """Whether a text can be run as it stands, or fails however it goes on."""
        if is_unfinished(text):
            return False
        return self.session.is_complete(text)

    def run(self, text: str) -> bool:
        """Run what was typed; return whether every statement passed."""
        typed, text = text, asked(text)
        passed = self._run(text, NAME, self.sink, self.line)
        self.line += text.count("\n") + 1
        if not passed:
            self.history.mark_failed(typed)
            if self._after_block and typed[:1].isspace():
                self.sink.err.write("  help: an empty line ended the block above: type the block without it, or paste it whole\n")
        self._after_block = "\n" in typed or (self._after_block and typed[:1].isspace())
        return passed

    def _run(self, text: str, name: str, sink: Callable[[Any], None], first_line: int = 1) -> bool:
        session = self.session
        self.sink.refresh()
        passed = False
        try:
            with Interruptible(session), self._watched(session, sink) as emit:
                if self.interrupted:
                    session.interrupt()
                passed = session.run(text, emit, name=name, first_line=first_line, values=dict(self.options.values)).status == 0
        except KeyboardInterrupt:
            self.sink.err.write("interrupted\n")
        except Exception as error:  # noqa: BLE001  # a fault of ours must not take the session along
            self._confess(error)
        finally:
            self.sink.out.flush()
        if not self.plain:
            self._take_status(session)
        return passed

    def _watched(self, session: "Session", sink: Callable[[Any], None]) -> Any:
        """Return what shows samples while a statement runs, where a setting asks for that, and gives what takes its events."""
        if not self.setting("top") or sink is not self.sink:
            return nullcontext(sink)
        from gradsh.run.top import watched

        return watched(session, self.sink, plain=self.plain, quick=True)

    def note_interrupt(self, _number: int = 0, _frame: object = None) -> None:
        """Answer a Ctrl-C while nothing runs: where no line is being read, it is meant for the one that was typed last."""
        self.interrupted = not self.reading()

    def _take_status(self, session: "Session") -> None:
        try:
            self.status = status_of(session)
        except Exception:  # noqa: BLE001  # the line below is no reason to fail
            self.status = ""

    def _confess(self, error: Exception) -> None:
        """Tell a fault of gradsh's own, and go on."""
        import os

        if os.environ.get("GRADSH_DEBUG"):
            import traceback

            traceback.print_exception(error)
        text = f"error[other]: gradsh itself failed: {type(error).__name__}: {error}\n"
        self.sink.err.write(text + "  help: this is a bug; set GRADSH_DEBUG=1 to see the traceback, and report it with your input\n")

    # ------------------------------------------------------------------ leaving

    def unsaved(self) -> list["Entry"]:
        """Return the typed statements that passed since the last `save`, where they left something to lose: variables."""
        if self._session is None or not self._session.machine.variables():
            return []
        from gradsh.commands.save import unsaved

        return [entry for entry in unsaved(self._session.state) if entry.source == NAME]

    def may_leave(self) -> bool:
        """Whether the person wants to leave, who is asked where `set confirm on` says so and something is not saved."""
        number = len(self.unsaved()) if self.setting("confirm") else 0
        if not number:
            return True
        answer = self._ask(f"{number} statement{'s are' if number > 1 else ' is'} not saved; quit? [Y/n] ")
        leaving = answer is None or answer.strip().lower() in {"", "y", "yes"}
        if not leaving:
            self.session.left = None
        return leaving

    def keep_unsaved(self) -> None:
        """Write what was not saved beside the history, and say so: a session is not lost by leaving it."""
        if not self.unsaved():
            return
        from gradsh.commands.save import script_of

        file = self.folder / "last.grad"
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(file, script_of(self.session.state, failed=False)[0].encode())
        except OSError:
            return
        where = self.sink.out if self.sink.out.isatty() else self.sink.err
        where.write(f"the session was not saved; it is kept in {file} (`load` restores it)\n")
        where.flush()

    @property
    def left(self) -> int | None:
        """The exit status, once a statement has asked to leave."""
        return self._session.left if self._session is not None else None


def loop(host: Host, read: Callable[[], str | None]) -> int:
    """Read and run until the end of input, or until a statement asks to leave; return the exit status."""
    while True:
        host.interrupted = False
        text = read()
        if text is not None and text.strip():
            host.run(text)
        if (text is None or host.left is not None) and host.may_leave():
            break
    host.keep_unsaved()
    sys.stdout.flush()
    return host.left or 0
