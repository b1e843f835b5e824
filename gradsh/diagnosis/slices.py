"""The statements that compute a value: what has to run again so that a graph is there anew."""

from gradsh.diagnosis.code import Site, base_of, path_of, reads, targets_of, written
from gradsh.diagnosis.fixes import Finder
from gradsh.language import tree

_MOST = 12


def slice_before(finder: Finder, root: Site, *, freed: bool = False) -> list[Site]:
    """Return the statements before `root` in its function (or at the top level) whose results the failing graph is part of.

    They come in the order of the text; `freed` takes in what any pass has freed a part of.
    """
    same = sorted((site for site in finder.code.sites if site.same_scope(root)
                   and not isinstance(site.statement, tree.FunctionDef | tree.ClassDef)), key=lambda site: site.line)
    found: dict[int, Site] = {}
    wanted = list(reads(root.statement))
    seen: set[str] = set()
    while wanted and len(found) < _MOST:
        path = wanted.pop(0)
        if path in seen:
            continue
        seen.add(path)
        binders = [site for site in same if path in written(site.statement) and site.line < root.line
                   and not isinstance(site.statement, tree.For | tree.While | tree.With)]
        for site in binders[-2:]:
            if not (matters(finder, path, site) or (freed and finder.is_freed(finder.value(path)))) or id(site.statement) in found:
                continue
            found[id(site.statement)] = site
            wanted += reads(site.statement)
    return sorted(found.values(), key=lambda site: site.line)


def matters(finder: Finder, path: str, site: Site) -> bool:
    """Whether what a path holds has the failing graph in it, as far as that can be told."""
    value = finder.value(path)
    if finder.holds(value):
        return True
    saved = finder.cause.saved
    if saved is None:
        return False
    return any(level.statement is site.statement for level in finder.levels(saved))


def writes_on(sites: list[Site]) -> bool:
    """Whether statements write into parts of what none of them binds: what was there before stays."""
    targets = [(target, base_of(target)) for site in sites for target in targets_of(site.statement)]
    return bool({path_of(base) for target, base in targets if base is not target} - {path_of(target) for target, _ in targets})


def dedented(sites: list[Site]) -> list[str]:
    """Return the lines of statements as they stand at the left margin."""
    out = []
    for site in sites:
        lines = site.text.split("\n")
        out += [lines[0], *(line.removeprefix(site.indent) for line in lines[1:])]
    return out
