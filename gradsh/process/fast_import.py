"""Finds compiled modules of gradsh, numpy and Python's library by one look each.

Python's own search takes an eighth of a small script's start: for every module it looks at the time of each folder, tries each form
that a module may have, and opens its file by way of `io`. The modules of these packages have one form each. Where a compiled file is
missing or does not fit its source, Python's search goes on.
"""

import os
import sys
from collections.abc import Sequence
from importlib._bootstrap_external import MAGIC_NUMBER  # `importlib.util` imports much more
from importlib.machinery import ModuleSpec, SourceFileLoader
from marshal import loads
from types import CodeType, ModuleType

KNOWN = {"gradsh", "numpy", *sys.stdlib_module_names}
LIBRARY = (os.path.dirname(os.__file__),)  # noqa: PTH120  # `pathlib` is not imported yet
PLAIN = MAGIC_NUMBER + b"\0\0\0\0"
"""What a compiled file begins with that notes the time and the size of its source, in the eight bytes that follow."""


class _CodeLoader(SourceFileLoader):
    """Runs the code that the search has found."""

    code: CodeType | None = None

    def get_code(self, fullname: str) -> CodeType | None:
        code, self.code = self.code, None
        return code or super().get_code(fullname)


def _compiled(kept: str, source: str) -> CodeType | None:
    """Return the code of a module from its compiled file, or None where that is missing or does not fit the source."""
    try:
        of = os.stat(source)  # noqa: PTH116
        handle = os.open(kept, os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)
    noted = (int(of.st_mtime) & 0xFFFFFFFF) | (of.st_size & 0xFFFFFFFF) << 32
    fits = data[:8] == PLAIN and int.from_bytes(data[8:16], "little") == noted
    return loads(memoryview(data)[16:]) if fits else None


class _Finder:
    """The search, as `sys.meta_path` has it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in KNOWN:
            return None
        last = name.rpartition(".")[2]
        for folder in LIBRARY if path is None else path:
            inner = f"{folder}/{last}"
            for place, file, within in ((folder, last, None), (inner, "__init__", [inner])):
                source = f"{place}/{file}.py"
                beside = sys.pycache_prefix + place if sys.pycache_prefix else f"{place}/__pycache__"
                kept = f"{beside}/{file}.{sys.implementation.cache_tag}.pyc"
                code = _compiled(kept, source)
                if code is not None:
                    loader = _CodeLoader(name, source)
                    loader.code = code
                    spec = ModuleSpec(name, loader, origin=source, is_package=within is not None)
                    spec.has_location, spec.submodule_search_locations, spec.cached = True, within, kept
                    return spec
        return None


def search_fast() -> None:
    """Let this process find its modules so, from now on."""
    if os.name == "posix" and not sys.flags.optimize:  # compiled files have other names then
        sys.meta_path.insert(0, _Finder)
