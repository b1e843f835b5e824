"""`gradsh test`: collects scripts, runs them (in several processes with `-j`), reports, updates.

Each script runs in a process of its own; nothing of one reaches the next.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gradsh.golden import machine_reports, report
from gradsh.golden.cache import key, load, save
from gradsh.golden.check import Checked, Played, fresh_session, lost_script
from gradsh.golden.choose import in_shard, matching
from gradsh.golden.collect import orphans, scripts_below
from gradsh.golden.compare import Tolerance
from gradsh.golden.documents import is_document, judge_all, play_all
from gradsh.golden.pending import pending_of
from gradsh.golden.review import review_one
from gradsh.golden.update import proposed, settle
from gradsh.process.files import write_whole
from gradsh.process.limits import FOR_TESTS
from gradsh.process.signals import Raising
from gradsh.render.style import Style, style_for
from gradsh.report.page import ReportFile
from gradsh.report.recorder import recorded
from gradsh.run.progress import ProgressLine
from gradsh.run.read import Script, read_script
from gradsh.run.script import DONE, FAILED, INTERRUPTED, UNREADABLE, RunOptions, enclose, no_sandbox
from gradsh.run.workers import Lost, answers


class GoldenOptions(NamedTuple):
    """What the command line says about a test run."""

    paths: tuple[str, ...] = (".",)
    update: bool = False
    review: bool = False
    pending: bool = False
    new: bool = False
    jobs: int = 1
    words: tuple[str, ...] = ()
    junit: str | None = None
    tap: bool = False
    cases: str = "script"
    durations: int | None = None
    plain: bool = False
    fail_fast: bool = False
    last_failed: bool = False
    failed_first: bool = False
    shard: tuple[int, int] | None = None
    tolerance: Tolerance = Tolerance()
    run: RunOptions = RunOptions(limits=FOR_TESTS)


def run_tests(options: GoldenOptions) -> int:
    """Run golden tests; return the exit status."""
    wrong = refusal(options)
    if wrong:
        return refuse(wrong)
    scripts, missing = scripts_below(options.paths)
    for path in missing:
        complain(f"no such file or folder: {path}")
    if missing or not scripts:
        return UNREADABLE if missing else refuse("no script or document with scripts found")
    try:
        scripts = chosen(scripts, options)
    except ValueError as error:
        return refuse(str(error))
    return run_scripts(scripts, options)[0]


def refusal(options: GoldenOptions) -> str:
    """Say why the options cannot be followed here, or nothing."""
    if (options.update or options.review or options.new) and os.environ.get("CI"):
        return "expectations are not updated where CI is set: run this on your own machine and commit the result"
    if options.review and not sys.stdin.isatty():
        return "--review asks about each difference and needs a terminal; --pending keeps them for `gradsh review`"
    return no_sandbox(options.run.limits.sandbox)


def chosen(scripts: Sequence[str], options: GoldenOptions) -> list[str]:
    """Return the scripts that the options choose, in their order. Raises ValueError where `-k` leaves none."""
    try:
        found = matching(scripts, options.words)
    except ValueError as error:
        raise ValueError(f"-k: {error}") from None
    if not found:
        raise ValueError(f"no script is chosen by -k {' -k '.join(map(repr, options.words))}")
    runs = load()
    failed = {path for path in found if key(path) in runs and runs[key(path)].failed}
    if options.last_failed:
        if not failed:
            complain("no script is known to have failed when it was last run: all are run")
        found = [path for path in found if path in failed] or found
    if options.failed_first:
        found.sort(key=lambda path: path not in failed)
    return in_shard(found, options.shard, runs) if options.shard else found


def run_scripts(scripts: Sequence[str], options: GoldenOptions) -> tuple[int, list[Checked]]:
    """Run these scripts; return the exit status, and how each went."""
    style = style_for(sys.stdout, plain=options.plain)
    with Raising():
        results, interrupted = _run_all(scripts, options, style)
        stray = orphans(options.paths, results)
        status = _finish(results, stray, options, style, len(scripts), interrupted)
    if options.run.report is not None and not (options.update or options.review):
        status = max(status, _report(results, options, options.run.report))
    if options.shard is None:  # the shards of one run must agree on the times
        save(results)
    return status, results


def _finish(
    results: list[Checked], stray: Sequence[str], options: GoldenOptions, style: Style, total: int, interrupted: bool
) -> int:
    """Update what is to be updated, tell how it went; return the exit status."""
    try:
        if not interrupted:
            results, interrupted = _accept(results, options, style)
        _tell(results, stray, options, style, total)
    except BrokenPipeError:
        raise  # nobody reads the report any more: the program ends quietly
    except OSError as error:
        return refuse(f"cannot write {error.filename or 'the output'}: {error.strerror or error}")
    if interrupted:
        return INTERRUPTED
    return FAILED if stray or not all(tested.passed for tested in results) else DONE


def _report(results: Sequence[Checked], options: GoldenOptions, file: ReportFile) -> int:
    """Run the scripts that failed again, and write a report of them; return the exit status that this asks for."""
    failed = {tested.path: tested for tested in results if not tested.passed and tested.ran and not is_document(tested.path)}

    def task(script: Script) -> dict[str, Any]:
        enclose(options.run, script)
        return recorded(fresh_session(script, options.run), script.name, script.text)

    file.runs.clear()
    for script, told in answers(task, map(read_script, failed), options.jobs, read=dict, seconds=options.run.limits.timeout):
        if not isinstance(told, Lost):
            file.add(script.name, {**told, "differences": report.diff_lines(failed[script.name])})
    return file.write()


def complain(text: str) -> None:
    """Tell on standard error what is wrong with the command line."""
    sys.stderr.write(f"gradsh test: {text}\n")


def refuse(text: str) -> int:
    """Tell why nothing is run; return the exit status."""
    complain(text)
    return UNREADABLE


def _run_all(scripts: Sequence[str], options: GoldenOptions, style: Style) -> tuple[list[Checked], bool]:
    """Run the scripts, with a progress line where a terminal shows it; return the results and whether interrupted."""
    results: list[Checked] = []
    progress = ProgressLine(len(scripts), plain=options.plain)
    try:
        for tested in _outcomes(scripts, options):
            results.append(tested)
            progress.step(failed=not tested.passed)
            if not tested.passed and not options.tap and not _accepts(options, tested):
                progress.clear()
                sys.stdout.write("".join(line + "\n" for line in report.failure_lines(tested, style)))
                sys.stdout.flush()
            if options.fail_fast and not tested.passed:
                break
    except KeyboardInterrupt:
        progress.clear()
        return results, True
    progress.clear()
    return results, False


def _outcomes(scripts: Sequence[str], options: GoldenOptions) -> Iterator[Checked]:
    """Run scripts in processes of their own, and compare what came out here: what a script does is no part of its judgement."""
    def task(script: Script) -> list[Played]:
        if not script.unreadable:
            enclose(options.run, script)
        return play_all(script, options.run)

    def read(told: Any) -> list[Played]:
        return [Played.read(one) for one in told]

    everything = answers(task, map(read_script, scripts), options.jobs, read=read, seconds=options.run.limits.timeout)
    for script, played in everything:
        if isinstance(played, Lost):
            yield lost_script(script, played.line, played.reason)
        else:
            yield judge_all(script, played, options.tolerance, bare=options.new)


def _accepts(options: GoldenOptions, tested: Checked) -> bool:
    """Whether what came out of a script may be written into it."""
    return options.update or options.review or (options.new and not tested.blocks)


def _accept(results: list[Checked], options: GoldenOptions, style: Style) -> tuple[list[Checked], bool]:
    """Update (or review) what failed; return the results as they are afterwards, and whether interrupted."""
    out = list(results)
    try:
        _accept_into(out, options, style)
    except KeyboardInterrupt:
        sys.stdout.write("interrupted: files not named above are unchanged\n")
        return out, True
    return out, False


def _accept_into(out: list[Checked], options: GoldenOptions, style: Style) -> None:
    asking = options.review
    for number, tested in enumerate(list(out)):
        if options.review or options.pending:
            waiting = pending_of(tested)
            waiting.write()
            if waiting.differences and options.pending:
                sys.stdout.write(f"wrote {waiting.path}\n")
            if waiting.differences and asking:
                left, over = review_one(waiting, "", style)
                asking = not over
                out[number] = tested if left == len(waiting.differences) else _again(tested.path, options)
        elif not tested.passed and _accepts(options, tested):
            out[number] = _updated(tested, options, style)


def _again(path: str, options: GoldenOptions) -> Checked:
    return next(_outcomes((path,), options))


def _updated(tested: Checked, options: GoldenOptions, style: Style) -> Checked:
    now = settle(tested, lambda path: _again(path, options), lambda path: sys.stdout.write(f"updated {path}\n"))
    for line in proposed(now).left:
        sys.stdout.write(f"{now.path}:{line}: the line has a wildcard and no longer matches: edit it by hand\n")
    if not now.passed:
        sys.stdout.write("".join(line + "\n" for line in report.failure_lines(now, style)))
    return now


def _tell(
    results: Sequence[Checked], stray: Sequence[str], options: GoldenOptions, style: Style, total: int
) -> None:
    out = sys.stdout
    if options.update:
        for tested in results:
            if tested.passed and not tested.blocks and tested.path in options.paths:
                out.write(f"{tested.path} has no expectations: --new writes them\n")
    cases = machine_reports.cases(results, stray, by_statement=options.cases == "statement")
    if options.tap:
        out.write("".join(line + "\n" for line in machine_reports.tap(cases)))
    else:
        for path in stray:
            out.write(f"{style.paint('bold', path)}: no script names this output file; delete it\n")
        if options.durations is not None:
            out.write("".join(line + "\n" for line in report.slowest(results, options.durations)))
        out.write("".join(line + "\n" for line in report.excuses(results, style)))
        out.write(report.summary(results, stray, style, total) + "\n")
    if os.environ.get("GITHUB_ACTIONS") and not options.tap:
        out.write("".join(line + "\n" for line in machine_reports.annotations(results, stray)))
    if options.junit is not None:
        write_whole(Path(options.junit), machine_reports.junit(cases).encode())
    out.flush()
