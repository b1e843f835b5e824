"""`NamedTuple` as typing has it, defined in a tenth of the time: what starts with the program defines fifty such classes.

typing checks each annotation and compiles each constructor from text, 70 microseconds a class. Here a constructor is one of the functions
below with the names of the fields put in, and annotations are left as they stand. For a type checker it is typing's own.
"""

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple
    from types import FunctionType

    _tuple = tuple.__new__
    _FIELDS = [vars(namedtuple("_", "x"))["x"]]
    """What reads each place of a tuple: the same kind of attribute as the fields of other named tuples."""
    _CONSTRUCTORS = (
        lambda cls: _tuple(cls, ()),
        lambda cls, a: _tuple(cls, (a,)),
        lambda cls, a, b: _tuple(cls, (a, b)),
        lambda cls, a, b, c: _tuple(cls, (a, b, c)),
        lambda cls, a, b, c, d: _tuple(cls, (a, b, c, d)),
        lambda cls, a, b, c, d, e: _tuple(cls, (a, b, c, d, e)),
        lambda cls, a, b, c, d, e, f: _tuple(cls, (a, b, c, d, e, f)),
        lambda cls, a, b, c, d, e, f, g: _tuple(cls, (a, b, c, d, e, f, g)),
        lambda cls, a, b, c, d, e, f, g, h: _tuple(cls, (a, b, c, d, e, f, g, h)),
        lambda cls, a, b, c, d, e, f, g, h, i: _tuple(cls, (a, b, c, d, e, f, g, h, i)),
        lambda cls, a, b, c, d, e, f, g, h, i, j: _tuple(cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q: _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r: (
            _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r))
        ),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s: (
            _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s))
        ),
        lambda cls, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t: (
            _tuple(cls, (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t))
        ),
    )
    """The constructors of tuples of 0, 1, 2, … fields."""

    def _constructor(name, fields, defaults):
        """Return `__new__` of a class with these fields."""
        code = _CONSTRUCTORS[len(fields)].__code__
        named = code.replace(co_name="__new__", co_qualname=f"{name}.__new__", co_varnames=("_cls", *fields))
        return FunctionType(named, globals(), "__new__", defaults)

    def _field(place):
        """Return the attribute that reads a place."""
        while len(_FIELDS) <= place:
            _FIELDS.append(type(_FIELDS[0])(len(_FIELDS), None))
        return _FIELDS[place]

    class _Kind(type):
        """Makes a class with fields of the annotated names in the body of a class."""

        def __new__(cls, name, bases, entries):
            if not isinstance(bases[0], cls) or hasattr(bases[0], "_fields"):  # NamedTuple itself, or a class below one with fields
                return super().__new__(cls, name, bases, entries)
            made = super().__new__(cls, name, bases, {**entries, "__slots__": ()})
            fields = tuple(made.__annotations__)
            given = {field: entries[field] for field in fields if field in entries}
            if fields[len(fields) - len(given) :] != tuple(given):
                raise TypeError(f"a field without a default follows one that has one in {name}")
            made.__new__ = _constructor(name, fields, tuple(given.values()))
            made._fields = made.__match_args__ = fields
            made._field_defaults = given
            for place, field in enumerate(fields):
                setattr(made, field, _field(place))
            return made

    class NamedTuple(tuple, metaclass=_Kind):
        """The methods that all named tuples have."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            found = _tuple(cls, values)
            if len(found) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(found)}")
            return found

        def _replace(self, **given):
            found = self._make(map(given.pop, self._fields, self))
            if given:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(map(repr, given))}")
            return found

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"
