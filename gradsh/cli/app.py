"""The command line in full: subcommands, options and their help. The only file that knows typer."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from gradsh.process import landlock, seccomp
from gradsh.process.blas_threads import hold
from gradsh.process.limits import FOR_TESTS, LIMITS, LONGEST, UNBOUNDED, bytes_of
from gradsh.render.style import Style, choose_colour, style_for
from gradsh.text.script_options import seed_of
from gradsh.version import PYTORCH_VERSION, __version__
from gradsh.view.shapes import Column, Row, Table

if TYPE_CHECKING:
    from gradsh.cli.manual import Flag, Sub
    from gradsh.report.page import ReportFile


class Subcommands(typer.core.TyperGroup):
    """The subcommands, each told with its whole sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of `gradsh --help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].help or "") for name in self.list_commands(ctx)])


app = typer.Typer(
    cls=Subcommands, name="gradsh", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find out why a PyTorch backward fails, what it saved and freed, and what holds memory. "
    "`gradsh` opens the shell, `gradsh FILE` runs a script.",
)

KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Continue with the next statement after a failed one.")]
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")]
Seed = Annotated[str, typer.Option("--seed", metavar="N|random", help="Seed of the random numbers.")]
Plain = Annotated[bool, typer.Option("--plain", help="No colour, no redrawing, no box drawing.")]


def _colour(when: str) -> str:
    choose_colour(when)
    return when


Color = Annotated[
    Literal["auto", "always", "never"], typer.Option("--color", help="Coloured output; auto: on a terminal.", callback=_colour)
]


def _opened(path: str) -> int:
    """Open a file that is written at the end, before the walls of the sandbox stand."""
    import os

    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror or error}") from None


def _limit(name: str, **more: Any) -> object:
    """Return the option of a limit."""
    limit = LIMITS[name]
    return typer.Option(f"--{name.replace('_', '-')}", metavar=limit.takes or None, help=limit.option, **more)


Timeout = Annotated[float | None, _limit("timeout")]
Memory = Annotated[str | None, _limit("max_memory")]
Output = Annotated[str | None, _limit("max_output")]
Nodes = Annotated[int | None, _limit("max_nodes", min=1)]
AllowFiles = Annotated[str | None, _limit("allow_files")]
Sandbox = Annotated[Literal["auto", "on", "off"], _limit("sandbox")]
Path = Annotated[
    list[str] | None, typer.Option("--path", metavar="DIR", help="A further folder to import modules from.")
]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write a report to FILE: a page to look at (.html), or its data (.json).")
]
Jobs = Annotated[int, typer.Option("-j", "--jobs", metavar="N", min=0, help="Number of processes; 0: one per CPU.")]


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --version: test the sandbox on this system and print the results.")
    ] = False,
    show_completion: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        typer.Option("--show-completion", metavar="SHELL", help="Print the completion for bash, zsh or fish and exit."),
    ] = None,
    man: Annotated[bool, typer.Option("--man", help="Print the man page and exit.")] = False,
) -> None:
    if show_completion or man:
        from gradsh.cli import manual

        told = manual.SHELLS[show_completion](described()) if show_completion else manual.man(described(), __version__)
        typer.echo(told, nl=False)
        raise typer.Exit
    if version:
        typer.echo(f"gradsh {__version__} (behaves as PyTorch {PYTORCH_VERSION})")
        if verbose:
            typer.echo(_walls())
        raise typer.Exit


def _walls() -> str:
    """What the sandbox's walls hold on this system, as a table."""
    import os

    from gradsh.process.sandbox_trials import tried
    from gradsh.render.table import draw

    system = os.uname()
    found = f"Landlock: {f'ABI {landlock.abi()}' if landlock.abi() else 'none'}; seccomp: {'yes' if seccomp.available() else 'none'}"
    rows = tuple(Row((one.what, one.wall, "held" if one.held else "NOT HELD", one.words)) for one in tried())
    table = Table((Column("tested in the sandbox"), Column("wall"), Column("result"), Column("answer")), rows)
    return "\n".join((f"{system.sysname} {system.release} {system.machine}. {found}", *draw(table, Style())))


@app.command()
def run(
    files: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Scripts; - is standard input.")] = None,
    code: Annotated[str | None, typer.Option("-c", metavar="CODE", help="Run CODE instead of files.")] = None,
    keep_going: KeepGoing = False,
    format: Format = "text",
    seed: Seed = "0",
    plain: Plain = False,
    color: Color = "auto",
    timeout: Timeout = None,
    max_memory: Memory = None,
    max_output: Output = None,
    max_nodes: Nodes = None,
    allow_files: AllowFiles = None,
    sandbox: Sandbox = "auto",
    jobs: Jobs = 1,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first script that fails.")] = False,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter of the scripts.")
    ] = None,
    params: Annotated[bool, typer.Option("--params", help="List the parameters of the scripts and exit.")] = False,
    args: Annotated[str, typer.Option("--args", metavar="TEXT", help="Arguments of the script: its sys.argv.")] = "",
    cuda: Annotated[
        Literal["explain", "ignore"], typer.Option("--cuda", help="A request for a GPU: explain (error) or ignore (use the CPU).")
    ] = "explain",
    path: Path = None,
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="Number of numpy threads.")] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Show time and saved bytes by line, node and module at the end.")] = False,
    profile_sort: Annotated[
        Literal["line", "time", "bytes"] | None, typer.Option("--profile-sort", help="Order of the profile; implies --profile.")
    ] = None,
    flame: Annotated[
        str, typer.Option("--flame", metavar="FILE", help="Write the profile as a flame graph (speedscope's JSON); implies --profile.")
    ] = "",
    top: Annotated[
        bool, typer.Option("--top", help="Show nodes, bytes by owner, growth and gradient norms while the script runs, and at the end.")
    ] = False,
    engine: Annotated[Literal["gradsh", "torch"], typer.Option("--engine", help="Engine: gradsh's own, or PyTorch.")] = "gradsh",
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda|meta", help="Device of new tensors (with --engine torch).")] = "",
    hints: Annotated[bool, typer.Option("--hints", help="Show hints about mistakes that raise no error.")] = False,
    report: Report = None,
    stays: Annotated[bool, typer.Option("-i", help="Open the shell after the script or its first failure.")] = False,
) -> None:
    """Run scripts; without any, the shell on a terminal, else standard input."""
    from gradsh.cli.dispatch import start
    from gradsh.run.script import RunOptions, list_parameters
    from gradsh.run.workers import use_threads

    if code is not None and files:
        raise typer.BadParameter("give either -c CODE or files, not both")
    if threads is not None:
        use_threads(threads)
    limits = UNBOUNDED._replace(
        timeout=_seconds(timeout), max_memory=_size(max_memory), max_output=_size(max_output), allow_files=allow_files,
        max_nodes=max_nodes, sandbox=sandbox,
    )
    profiled = None
    if profile or profile_sort or flame:
        from gradsh.run.profile import ProfileOptions

        if flame and len(files or ()) > 1:
            raise typer.BadParameter("--flame takes one script")
        profiled = ProfileOptions(profile_sort or "line", _opened(flame) if flame else -1)
    options = RunOptions(
        tuple(files or ()), code, keep_going, format, _seed(seed), plain, limits, jobs or _cpus(), fail_fast,
        tuple(map(_setting, values or ())), profiled, hints, args, cuda, tuple(path or ()),
        stays=stays, top=top,
    )
    if params:
        raise typer.Exit(list_parameters(options))
    if report and code is None and not files and sys.stdin is not None and sys.stdin.isatty():
        raise typer.BadParameter("--report needs a script; in the shell, `save FILE.html` writes one")
    if engine == "torch" and (top or stays):
        raise typer.BadParameter(f"{'--top' if top else '-i'} needs gradsh's engine")
    options = options._replace(report=_report(report, "run"))
    if device and engine == "gradsh":
        raise typer.BadParameter("--device needs --engine torch")
    if engine == "torch":
        from gradsh.lens.scripts import run_scripts

        raise typer.Exit(run_scripts(options, device))
    raise typer.Exit(start(options))


@app.command()
def debug(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A script.")],
    seed: Seed = "0",
    plain: Plain = False,
    color: Color = "auto",
    path: Path = None,
    args: Annotated[str, typer.Option("--args", metavar="TEXT", help="Arguments of the script: its sys.argv.")] = "",
) -> None:
    """Run a script statement by statement, with a prompt before each; then open the shell."""
    from gradsh.cli.dispatch import start
    from gradsh.run.script import RunOptions

    options = RunOptions((file,), seed=_seed(seed), plain=plain, arguments=args, path=tuple(path or ()), stays=True, stepped=True)
    raise typer.Exit(start(options))


@app.command("watch")
def watch_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A script.")],
    keep_going: KeepGoing = False,
    seed: Seed = "0",
    plain: Plain = False,
    color: Color = "auto",
    sandbox: Sandbox = "auto",
) -> None:
    """Run a script, and again whenever its file changes."""
    from gradsh.run.script import UNREADABLE, RunOptions, prepare, refused
    from gradsh.run.watch import watch

    hold()
    prepare()
    options = RunOptions((file,), keep_going=keep_going, seed=_seed(seed), plain=plain, limits=UNBOUNDED._replace(sandbox=sandbox))
    raise typer.Exit(UNREADABLE if refused(options) else watch(options))


@app.command("test")
def golden(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Scripts, or folders of them.")] = None,
    update: Annotated[bool, typer.Option("--update", help="Update outdated expectations.")] = False,
    review: Annotated[bool, typer.Option("--review", help="Ask about each difference, then update.")] = False,
    pending: Annotated[bool, typer.Option("--pending", help="Keep the differences beside the scripts, for `gradsh review`.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Write expectations into scripts that have none.")] = False,
    jobs: Jobs = 1,
    word: Annotated[
        list[str] | None, typer.Option("-k", metavar="WORDS", help="Run only scripts whose path or tags match: 'a and not b'.")
    ] = None,
    last_failed: Annotated[bool, typer.Option("--last-failed", "--lf", help="Run only scripts that failed last time.")] = False,
    failed_first: Annotated[bool, typer.Option("--failed-first", "--ff", help="Run scripts that failed last time first.")] = False,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="N/OF", help="Run part N of OF of the scripts, balanced by their times.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep running and test changed scripts again.")] = False,
    junit: Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit XML report to FILE.")] = None,
    tap: Annotated[bool, typer.Option("--tap", help="Print TAP (Test Anything Protocol).")] = False,
    cases: Annotated[
        Literal["script", "statement"], typer.Option("--cases", help="Unit of the reports of --junit and --tap.")
    ] = "script",
    durations: Annotated[
        int | None, typer.Option("--durations", metavar="N", min=0, help="Show the N slowest scripts; 0: all.")
    ] = None,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", "-x", help="Stop at the first script that fails.")] = False,
    seed: Seed = "0",
    plain: Plain = False,
    color: Color = "auto",
    timeout: Timeout = FOR_TESTS.timeout,
    max_memory: Memory = "2G",
    max_output: Output = "50M",
    max_nodes: Nodes = FOR_TESTS.max_nodes,
    allow_files: AllowFiles = None,
    sandbox: Sandbox = "auto",
    failed_report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write a report of the scripts that fail to FILE (.html or .json).")
    ] = None,
) -> None:
    """Run golden tests: scripts that carry their expected output."""
    import pathlib

    from gradsh.golden.choose import shard_of
    from gradsh.golden.compare import Tolerance
    from gradsh.golden.redact import of_project
    from gradsh.golden.runner import GoldenOptions, run_tests
    from gradsh.golden.watch import watch_tests
    from gradsh.run.script import RunOptions, prepare
    from gradsh.run.workers import use_threads

    use_threads(1, unless_set=True)
    prepare()
    limits = UNBOUNDED._replace(
        timeout=_seconds(timeout), max_memory=_size(max_memory), max_output=_size(max_output), allow_files=allow_files,
        max_nodes=max_nodes, sandbox=sandbox,
    )
    try:
        part = shard_of(shard) if shard else None
        tolerance = Tolerance(redactions=of_project(pathlib.Path.cwd()))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    options = GoldenOptions(
        last_failed=last_failed, failed_first=failed_first, shard=part, tolerance=tolerance,
        paths=tuple(paths or (".",)), update=update, review=review, pending=pending, new=new,
        jobs=jobs or _cpus(), words=tuple(word or ()), junit=junit, tap=tap, cases=cases,
        durations=durations, plain=plain, fail_fast=fail_fast,
        run=RunOptions(seed=_seed(seed), limits=limits, report=_report(failed_report, "test")),
    )
    raise typer.Exit((watch_tests if watch else run_tests)(options))


@app.command("review")
def review_pending(
    paths: Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Scripts, or folders of them.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept all, without asking.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Reject all, without asking.")] = False,
    only_list: Annotated[bool, typer.Option("--list", help="Show all, and decide nothing.")] = False,
    plain: Plain = False,
    color: Color = "auto",
) -> None:
    """Decide about the differences that `gradsh test --pending` kept, one by one."""
    from gradsh.golden.review import review

    if accept + reject + only_list > 1:
        raise typer.BadParameter("give one of --accept, --reject and --list")
    bulk: Literal["", "accept", "reject", "list"] = "accept" if accept else "reject" if reject else "list" if only_list else ""
    raise typer.Exit(review(tuple(paths or (".",)), bulk, plain=plain))


@app.command()
def explain(
    kind: Annotated[list[str] | None, typer.Argument(metavar="[KIND]...", help="A kind of error, or a message of PyTorch.")] = None,
) -> None:
    """Show what a kind of error means, with an example and the fixes."""
    from gradsh.commands.explain import Report, lookup, view
    from gradsh.render.text import lines_of

    try:
        report = Report(lookup(" ".join(kind)) if kind else ())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    typer.echo("\n".join(lines_of(view(report), style_for(sys.stdout)._replace(colour=False))))


@app.command()
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Scripts.")], path: Path = None, color: Color = "auto",
) -> None:
    """Parse scripts and look up their names, without running them."""
    from gradsh.run.check import check_files

    raise typer.Exit(check_files(files, tuple(path or ())))


@app.command()
def fix(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A script.")],
    apply: Annotated[bool, typer.Option("--apply", help="Write the fix into the script.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Repeat until the script runs or no fix helps.")] = False,
    color: Color = "auto",
) -> None:
    """Show an edit that mends a script's first failure, tried in a copy."""
    from gradsh.run.fix import fix_file

    raise typer.Exit(fix_file(file, apply=apply, everything=everything))


@app.command()
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A script; - is standard input.")],
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="PROGRAM.py", help="Write to this file.")] = None,
) -> None:
    """Write a script as plain PyTorch: commands that look become comments."""
    from gradsh.run.export import export_file

    raise typer.Exit(export_file(file, output))


@app.command()
def compare(file: Annotated[str, typer.Argument(metavar="FILE", help="A script; - is standard input.")]) -> None:
    """Run a script on gradsh's engine and on PyTorch, and show the first statement after which they differ."""
    from gradsh.lens.compare import compare_file

    raise typer.Exit(compare_file(file))


@app.command()
def kernel(
    action: Annotated[Literal["install"], typer.Argument(metavar="install", help="Install the kernel for Jupyter.")],
    user: Annotated[bool, typer.Option("--user", help="Install it for the user, not for this Python's environment.")] = False,
    prefix: Annotated[str | None, typer.Option("--prefix", metavar="DIR", help="Install it below DIR.")] = None,
) -> None:
    """Install the kernel by which Jupyter runs notebooks in gradsh."""
    from gradsh.kernel.install import NEEDS, install

    if user and prefix is not None:
        raise typer.BadParameter("give either --user or --prefix DIR, not both")
    try:
        typer.echo(f"installed the kernel gradsh in {install(user=user, prefix=prefix)}")
    except ImportError:
        typer.echo(f"gradsh kernel: {NEEDS}", err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"gradsh kernel: cannot write {error.filename or prefix}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def trace(
    arguments: Annotated[list[str], typer.Argument(metavar="PROGRAM.py [ARGS]...", help="A Python program.")],
) -> None:
    """Run a Python program on PyTorch and explain its failed backward passes (`gradsh trace --help` has the options)."""
    from gradsh.lens.tracing import main

    raise typer.Exit(main(arguments))


def _report(path: str | None, command: str) -> "ReportFile | None":
    """Open the file of a report; where it cannot be written, nothing is run."""
    from gradsh.report.page import ReportFile

    try:
        return None if path is None else ReportFile(path)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        typer.echo(f"gradsh {command}: cannot write the report {path}: {error.strerror or error}", err=True)
        raise typer.Exit(2) from None


def _seed(text: str) -> int | None:
    if text == "random":
        return None
    try:
        return seed_of(text)
    except ValueError:
        wanted = "a whole number between -2**63 and 2**64 - 1, or `random`"
        raise typer.BadParameter(f"--seed takes {wanted}, not {text[:40]!r}") from None


def _setting(text: str) -> tuple[str, str]:
    name, sep, value = text.partition("=")
    if not sep or not name.isidentifier():
        raise typer.BadParameter(f"--set takes NAME=VALUE, not {text!r}")
    return name, value


def _size(text: str | None) -> int | None:
    """The bytes that a size such as 500M or 2G names."""
    if text is None:
        return None
    try:
        return bytes_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _seconds(value: float | None) -> float | None:
    if value is not None and not 0 < value < LONGEST:
        raise typer.BadParameter(f"--timeout takes a positive number of seconds, not {value:g}")
    return value


def _cpus() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def described() -> "tuple[Sub, ...]":
    """Return the command line as data: the program itself, then its subcommands."""
    from gradsh.cli.manual import Sub
    from gradsh.text.kinds import KINDS

    top: Any = typer.main.get_command(app)
    found = [Sub("", top.help, _flags(top))]
    for name in ("run", *(one for one in top.commands if one != "run")):
        one = top.commands[name]
        arguments = " ".join(p.make_metavar(one.make_context(name, [], resilient_parsing=True)) for p in _arguments(one))
        found.append(Sub(name, one.help or "", _flags(one), arguments, tuple(KINDS) if name == "explain" else ()))
    return tuple(found)


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "argument"]


def _flags(command: Any) -> "tuple[Flag, ...]":
    from gradsh.cli.manual import Flag

    found = []
    for one in command.params:
        if one.param_type_name == "option":
            choices = tuple(getattr(one.type, "choices", ()))
            names = tuple(sorted((*one.opts, *one.secondary_opts), key=len))
            found.append(Flag(names, one.help or "", "" if one.is_flag else one.metavar or "VALUE", choices))
    return (*found, Flag(("-h", "--help"), "Show help and exit."))


def run_cli(arguments: list[str]) -> int:
    """Run the command line; return the exit status. Wrong usage is 2, an interrupt 130."""
    try:
        typer.main.get_command(app).main(arguments, prog_name="gradsh")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:
        return 130
    return 0
