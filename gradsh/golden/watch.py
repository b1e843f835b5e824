"""`gradsh test --watch`: tests scripts again whenever they, or what they read beside them, change.

The files are looked at five times a second. A package that asks the system for changes would be the larger dependency, and
knows no more: a thousand files take some milliseconds.
"""

import sys
import time
from contextlib import suppress
from pathlib import Path

from gradsh.golden.collect import scripts_below
from gradsh.golden.runner import GoldenOptions, chosen, refusal, refuse, run_scripts
from gradsh.process.signals import Raising
from gradsh.run.script import INTERRUPTED
from gradsh.run.watch import POLL_SECONDS, Stamp, stamp


def watch_tests(options: GoldenOptions) -> int:
    """Test the scripts now, and those that change whenever they do, until Ctrl-C; return the exit status."""
    wrong = refusal(options)
    if wrong:
        return refuse(wrong)
    seen: dict[str, tuple[Stamp, ...]] = {}
    failing: set[str] = set()
    with suppress(KeyboardInterrupt), Raising():
        while True:
            now = stamps(scripts_below(options.paths)[0])
            changed = [path for path in now if now[path] != seen.get(path)]
            try:
                scripts = chosen(changed, options) if changed else []
            except ValueError as error:
                if not seen:
                    return refuse(str(error))
                scripts = []
            if scripts:
                status, results = run_scripts(scripts, options)
                if status == INTERRUPTED:
                    break
                failing = {*failing, *scripts} & now.keys() - {one.path for one in results if one.passed}
                _say(failing)
            seen, options = now, options._replace(last_failed=False, shard=None)
            time.sleep(POLL_SECONDS)
    return INTERRUPTED


def _say(failing: set[str]) -> None:
    left = f"failing: {', '.join(sorted(failing))}" if failing else "nothing fails"
    sys.stderr.write(f"-- {left}; waiting for a change; Ctrl-C quits\n")
    sys.stderr.flush()


def stamps(scripts: list[str]) -> dict[str, tuple[Stamp, ...]]:
    """Return what changes with each script, its expected output beside it, and the modules of its folder."""
    folders: dict[Path, list[tuple[str, Stamp]]] = {}
    for script in scripts:
        folder = Path(script).parent
        if folder not in folders:
            files = sorted(folder.iterdir()) if folder.is_dir() else []
            folders[folder] = [(file.name, stamp(str(file))) for file in files if file.suffix in {".out", ".py"}]
    return {
        script: (stamp(script), *(
            one for name, one in folders[Path(script).parent] if name.endswith(".py") or name.startswith(Path(script).stem + ".")
        ))
        for script in scripts
    }
