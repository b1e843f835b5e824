"""`configparser` over the files that the program wrote, and over texts: Python's parser, with its reading of files taken over."""

import configparser
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.api import file_tree
from gradsh.runtime.allowlist import offer
from gradsh.runtime.library import listed

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_OPTIONS = frozenset({"allow_no_value", "delimiters", "comment_prefixes", "inline_comment_prefixes", "strict",
                      "empty_lines_in_values", "default_section"})  # fmt: skip
"""What a parser may be given as data: no classes and functions that it would call."""
_PLAIN = (
    "sections add_section has_section options has_option read_string read_dict get getint getfloat getboolean items set "
    "remove_option remove_section defaults"
)
"""The methods that are Python's own."""


class ConfigParser:
    """Sections of options that are texts."""

    __module__ = "configparser"
    __script_attributes__ = frozenset({"read", "read_file", "write", "optionxform", *_PLAIN.split()})

    def __init__(self, defaults: Any = None, *, interpolation: object = "", **options: Any) -> None:
        refused = options.keys() - _OPTIONS
        if refused:
            raise TypeError(f"ConfigParser takes no {min(refused)} here")
        if interpolation is None:
            options["interpolation"] = None
        self._inner = configparser.ConfigParser(defaults, **options)

    def __getattr__(self, name: str) -> Any:
        if name not in _PLAIN.split():
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def optionxform(self) -> object:
        """What makes an option's name of what is written: small letters, unless `str` is set."""
        return self._inner.optionxform

    @optionxform.setter
    def optionxform(self, value: Any) -> None:
        self._inner.optionxform = lambda name: str(value(name))  # type: ignore[method-assign, assignment]

    def read(self, filenames: object, encoding: str | None = None) -> list[str]:
        """Read those of the files that the program wrote; return their names."""
        names = [filenames] if not isinstance(filenames, (list, tuple)) else filenames
        found = [str(name) for name in names if file_tree.is_file(name) and isinstance(file_tree.taken(name), str)]
        for name in found:
            self._inner.read_string(file_tree.taken(name), name)
        return found

    def read_file(self, f: Any, source: str | None = None) -> None:
        """Read an open file."""
        self._inner.read_string("".join(map(str, f)), source or "<string>")

    def write(self, fp: Any, space_around_delimiters: bool = True) -> None:
        """Write all into an open file."""
        import io

        text = io.StringIO()
        self._inner.write(text, space_around_delimiters)
        fp.write(text.getvalue())

    def __getitem__(self, name: str) -> Any:
        return self._inner[name]

    def __setitem__(self, name: str, values: Any) -> None:
        self._inner[name] = values

    def __contains__(self, name: object) -> bool:
        return name in self._inner

    def __iter__(self) -> Iterator[str]:
        return iter(self._inner)

    def __len__(self) -> int:
        return len(self._inner)


def load_configparser(_: "Machine") -> Mapping[str, object]:
    """Return what `configparser` offers."""
    offer(configparser.SectionProxy, "get getint getfloat getboolean keys values items name")
    errors = "Error NoSectionError NoOptionError DuplicateSectionError DuplicateOptionError ParsingError MissingSectionHeaderError"
    return listed(configparser, errors) | {"ConfigParser": ConfigParser, "SafeConfigParser": ConfigParser}
