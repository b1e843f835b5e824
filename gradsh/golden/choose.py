"""Which of the scripts that were found are tested, and in which order."""

import re
from collections.abc import Callable, Mapping, Sequence

from gradsh.golden.cache import LastRun, key
from gradsh.golden.condition import holds
from gradsh.run.read import read_script
from gradsh.text.script_options import options_of
from gradsh.text.span import Source


def shard_of(text: str) -> tuple[int, int]:
    """Return (which, of how many) for a text such as 2/5. Raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"a shard is N/OF, as 2/5, not {text[:40]!r}")
    return int(match[1]), int(match[2])


def matching(scripts: Sequence[str], expressions: Sequence[str]) -> list[str]:
    """Return the scripts that one of the expressions holds for; all, where there is none. Raises ValueError.

    A word holds for a script whose path contains it, or that has it as a tag.
    """
    if not expressions:
        return list(scripts)
    chosen = [(path, _word_holds(path)) for path in scripts]
    return [path for path, word_holds in chosen if any(holds(one, word_holds) for one in expressions)]


def _word_holds(path: str) -> Callable[[str], bool]:
    tags: list[str] = []

    def word_holds(word: str) -> bool:
        if word.lower() in path.lower():
            return True
        if not tags:
            tags.extend(("", *options_of(Source(path, read_script(path).text), strict=False).tags))
        return word in tags

    return word_holds


def in_shard(scripts: Sequence[str], shard: tuple[int, int], runs: Mapping[str, LastRun]) -> list[str]:
    """Return the scripts of one shard. The longest go first, each to the shard that has least; all shards agree on it."""
    number, count = shard
    known = [one.seconds for one in runs.values()]
    usual = sum(known) / len(known) if known else 1.0
    seconds = {path: runs[key(path)].seconds if key(path) in runs else usual for path in scripts}
    loads = [0.0] * count
    mine = set()
    for path in sorted(scripts, key=lambda one: (-seconds[one], one)):
        least = loads.index(min(loads))
        loads[least] += seconds[path]
        if least == number - 1:
            mine.add(path)
    return [path for path in scripts if path in mine]
