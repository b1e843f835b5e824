"""What Python's own types offer to a script: explicit lists of attribute names, by type."""

import collections
import functools
import itertools
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType
from typing import Any


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEQUENCE = _names("count index")
_DICT = _names("clear copy fromkeys get items keys pop popitem setdefault update values")
_NUMBER = _names("real imag conjugate numerator denominator as_integer_ratio is_integer")
_FUNCTION = _names("__name__ __qualname__ __doc__ __module__")
_OPERATORS = _names(
    "__len__ __getitem__ __contains__ __iter__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __repr__ __str__ __hash__"
)
_ARITHMETIC = _names(
    "__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __neg__ __pos__ __abs__ __bool__ __int__ __float__ __round__"
)

_STR = _names(
    "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii "
    "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans "
    "partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith "
    "strip swapcase title translate upper zfill"
)

ATTRIBUTES: dict[type, frozenset[str]] = {
    str: _STR | _OPERATORS,
    bytes: _names("decode hex count find index join split startswith endswith strip replace") | _OPERATORS,
    int: _NUMBER | _names("bit_length bit_count to_bytes from_bytes") | _ARITHMETIC,
    bool: _NUMBER | _names("bit_length bit_count") | _ARITHMETIC,
    float: _NUMBER | _names("hex fromhex") | _ARITHMETIC,
    complex: _names("real imag conjugate"),
    list: _SEQUENCE | _names("append clear copy extend insert pop remove reverse sort __setitem__") | _OPERATORS,
    tuple: _SEQUENCE | _OPERATORS,
    range: _SEQUENCE | _names("start stop step __len__"),
    slice: _names("start stop step indices"),
    dict: _DICT | _names("__setitem__") | _OPERATORS,
    set: _names(
        "add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset "
        "issuperset pop remove symmetric_difference symmetric_difference_update union update"
    ) | _OPERATORS,
    frozenset: _names(
        "copy difference intersection isdisjoint issubset issuperset symmetric_difference union"
    ) | _OPERATORS,
    collections.OrderedDict: _DICT | _names("move_to_end __setitem__") | _OPERATORS,
    collections.defaultdict: _DICT | _names("default_factory __setitem__") | _OPERATORS,
    collections.Counter: _DICT | _names("elements most_common subtract total __setitem__") | _OPERATORS,
    collections.deque: _SEQUENCE | _names(
        "append appendleft clear copy extend extendleft insert maxlen pop popleft remove reverse rotate"
    ) | _OPERATORS,
    GeneratorType: _names("send throw close __next__ __iter__ __name__"),
    FunctionType: _FUNCTION,
    MethodType: _FUNCTION,
    BuiltinFunctionType: _FUNCTION,
    type(str.upper): _FUNCTION,
    type("".__len__): _FUNCTION,
    type(str.__len__): _FUNCTION,
    property: _names("setter getter deleter __doc__"),
    functools.partial: _names("func args keywords"),
    type(functools.lru_cache(abs)): _names("cache_info cache_clear __name__ __doc__"),
    functools.cached_property: frozenset(),
    itertools.chain: _names("from_iterable"),
    type({}.keys()): _names("isdisjoint mapping") - {"mapping"},
    type({}.values()): frozenset(),
    type({}.items()): _names("isdisjoint"),
    type(None): frozenset(),
    type(Ellipsis): frozenset(),
    type(NotImplemented): frozenset(),
    object: frozenset(),
}
"""Type -> the names that its values, and the type itself, offer. A type that is not here offers nothing."""

EXCEPTION_ATTRIBUTES: dict[type[BaseException], frozenset[str]] = {
    StopIteration: _names("value"),
    NameError: _names("name"),
    AttributeError: _names("name"),
    ImportError: _names("name msg"),
    OSError: _names("errno strerror"),
    BaseException: _names("args add_note __cause__ __context__ __str__ __repr__ __init__"),
}
"""Exception class -> what it and its subclasses offer; never a traceback, which leads to frames."""


def table_of(kind: type) -> frozenset[str] | None:
    """Return what values of exactly this type offer, or None for a type that no list names."""
    found = ATTRIBUTES.get(kind)
    if found is None and issubclass(kind, BaseException):
        found = frozenset().union(*(names for base, names in EXCEPTION_ATTRIBUTES.items() if issubclass(kind, base)))
    return found


def public(name: Any) -> bool:
    """Tell whether a name is an ordinary one: a plain string that Python gives no meaning of its own."""
    return type(name) is str and not (name[:2] == "__" == name[-2:]) and name.isidentifier()
