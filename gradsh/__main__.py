"""The program's entry: the common forms are read here at once, everything else goes to typer (`cli/app.py`).

Importing typer costs as much as numpy does, so `gradsh`, `gradsh FILE…`, `gradsh run FILE…`, `gradsh -c CODE` and
`gradsh --version` never do.
"""

import _signal as signals  # type: ignore[import-not-found]  # `signal` costs a third of `gradsh --version`
import os
import sys

if __name__ == "__main__" or os.path.basename(sys.argv[0]).partition(".")[0] == "gradsh":  # noqa: PTH119  # else a library
    signals.signal(signals.SIGINT, lambda *_: os._exit(130))  # before anything else: an import that is interrupted tells so

import gc

TYPE_CHECKING = False  # importing `typing` for it would double the time of --version
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from gradsh.process.limits import Limits
    from gradsh.run.script import RunOptions

SUBCOMMANDS = frozenset({"run", "debug", "test", "review", "explain", "check", "fix", "watch", "trace", "export", "compare", "kernel"})
OF_THE_PROGRAM = frozenset({"--verbose", "--help", "-h", "--version", "-V", "--show-completion", "--man"})
FLAGS = {"--keep-going": "keep_going", "--plain": "plain", "--hints": "hints", "--top": "top", "-i": "stays"}
VALUES = {"--format": "format", "--seed": "seed", "--args": "arguments", "--cuda": "cuda", "--color": "color"}


def main() -> "NoReturn":
    """Run the program with the arguments of the process; never returns."""
    if sys.argv[1:2] == ["trace"]:  # the program that it runs owns the process: its signals, streams and end
        signals.signal(signals.SIGINT, signals.default_int_handler)
        from gradsh.lens.tracing import main as trace

        sys.exit(trace(sys.argv[2:]))
    from gradsh.process.signals import INTERRUPTED, answer, leave_at_once, take_over

    try:
        take_over()
        open_streams()
        status = _main(sys.argv[1:])
        answer(leave_at_once)
        leave(status)
    except KeyboardInterrupt:
        leave(INTERRUPTED)
    except OSError as error:  # what a subcommand says, not what a script does: its sink answers for that
        leave(unwritten(error))
    except BaseException as error:  # noqa: BLE001  # a fault of ours: no input shows a traceback
        leave(internal_error(error))


def open_streams() -> None:
    """Stand in for streams that were closed before the program began: Python has None there."""
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        from gradsh.run.sinks import ClosedStream

        sys.stdin = sys.stdin or ClosedStream()
        sys.stdout = sys.stdout or ClosedStream()
        sys.stderr = sys.stderr or ClosedStream(silent=True)


def unwritten(error: OSError) -> int:
    """Tell that the output cannot be written (nothing, where its reader has gone); return the exit status."""
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"gradsh: cannot write the output: {error.strerror or error}\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is held back would fail again
    return int(not isinstance(error, BrokenPipeError))


def internal_error(error: BaseException) -> int:
    """Tell a fault of gradsh's own in a sentence (and its traceback where GRADSH_DEBUG is set)."""
    if os.environ.get("GRADSH_DEBUG"):
        import traceback

        traceback.print_exception(error)
    text = f"error[other]: gradsh itself failed: {type(error).__name__}: {error}\n"
    sys.stderr.write(text + "  help: this is a bug; set GRADSH_DEBUG=1 to see the traceback, and report it with the script\n")
    return 1


def _main(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from gradsh.version import PYTORCH_VERSION, __version__

        return say(f"gradsh {__version__} (behaves as PyTorch {PYTORCH_VERSION})")
    gc.disable()  # what is imported stays: looking through it again and again takes a tenth of the start
    from gradsh.process.fast_import import search_fast

    search_fast()
    options = fast_options(arguments)
    if options is None:
        from gradsh.cli.app import run_cli

        return run_cli(with_default(arguments))
    from gradsh.cli.dispatch import start

    return start(options)


def say(text: str) -> int:
    """Print a line; return the exit status."""
    print(text)  # noqa: T201
    return 0


def leave(status: int) -> "NoReturn":
    """End the process at once: tearing down numpy and a large graph object by object takes longer than the work."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            if not isinstance(error, BrokenPipeError) and stream is sys.stdout:
                os.write(2, f"gradsh: cannot write the output: {error.strerror}\n".encode())
                status = status or 2
    if "multiprocessing" in sys.modules:  # its processes and semaphores are let go by an exit function
        import atexit

        atexit._run_exitfuncs()
    os._exit(status)


def with_default(arguments: list[str]) -> list[str]:
    """Put `run` before arguments that name no subcommand: `gradsh FILE` runs it."""
    if arguments and (arguments[0] in SUBCOMMANDS or arguments[0].partition("=")[0] in OF_THE_PROGRAM):
        return arguments
    return ["run", *arguments]


def fast_options(arguments: list[str]) -> "RunOptions | None":
    """Return the options of a plain run, or None where typer must look (help, other subcommands, rare options)."""
    rest = list(reversed(arguments[1:] if arguments[:1] == ["run"] else arguments))
    if not rest and arguments == ["run"]:
        return None
    if arguments and arguments[0] in SUBCOMMANDS - {"run"}:
        return None
    from gradsh.process.limits import LIMITS

    bounds = {f"--{name.replace('_', '-')}": name for name in LIMITS}
    given: dict[str, Any] = {}
    limits: dict[str, str] = {}
    files: list[str] = []
    while rest:
        word = rest.pop()
        name, sep, value = word.partition("=")
        if word == "--":
            files += reversed(rest)
            break
        if word in FLAGS:
            given[FLAGS[word]] = True
        elif word == "-c" and rest and "code" not in given:
            given["code"] = rest.pop()
        elif name in VALUES and (sep or rest):
            given[VALUES[name]] = value if sep else rest.pop()
        elif name in bounds and (sep or rest):
            limits[bounds[name]] = value if sep else rest.pop()
        elif word.startswith("-") and word != "-":
            return None
        else:
            files.append(word)
    return _checked(given, limits, files)


def _checked(given: "dict[str, Any]", limits: dict[str, str], files: list[str]) -> "RunOptions | None":
    """The options if every value is one that needs no further words, else None: typer then says what is wrong."""
    if "seed" in given:
        from gradsh.text.script_options import seed_of

        try:
            given["seed"] = None if given["seed"] == "random" else seed_of(given["seed"])
        except ValueError:
            return None
    when = given.pop("color", "auto")
    if when not in {"auto", "always", "never"}:
        return None
    if given.get("cuda", "ignore") not in {"explain", "ignore"}:
        return None
    if given.get("format", "text") not in {"text", "json"} or ("code" in given and files):
        return None
    from gradsh.run.script import RunOptions

    try:
        given["limits"] = _limits(limits)
    except ValueError:
        return None
    if when != "auto":
        from gradsh.render.style import choose_colour

        choose_colour(when)
    return RunOptions(files=tuple(files), **given)


def _limits(texts: dict[str, str]) -> "Limits":
    """Return the limits that options give. Raises ValueError."""
    from gradsh.process.limits import UNBOUNDED, changed

    found = UNBOUNDED._replace(allow_files=texts.pop("allow_files", None), sandbox=texts.pop("sandbox", "auto"))
    if "off" in texts.values():
        raise ValueError("a word of `set`, not of the command line")
    if found.sandbox not in {"auto", "on", "off"}:
        raise ValueError("no mode of the sandbox")
    for name, text in texts.items():
        found = changed(found, name, text)
    return found


if __name__ == "__main__":
    main()
