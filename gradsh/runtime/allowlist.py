"""What Python's own types offer to a script: explicit lists of attribute names, by type."""

import collections
import enum
import functools
import re
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType


def names_in(text: str) -> frozenset[str]:
    """Return the names of a list that is written as one text."""
    return frozenset(text.split())


_SEQUENCE = names_in("count index")
_DICT = names_in("clear copy fromkeys get items keys pop popitem setdefault update values")
_NUMBER = names_in("real imag conjugate numerator denominator as_integer_ratio is_integer")
_FUNCTION = names_in("__name__ __qualname__ __doc__ __module__")
_OPERATORS = names_in(
    "__len__ __getitem__ __contains__ __iter__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __repr__ __str__ __hash__"
)
_ARITHMETIC = names_in(
    "__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __neg__ __pos__ __abs__ __bool__ __int__ __float__ __round__"
)

_STR = names_in(
    "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum isalpha isascii "
    "isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans "
    "partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith "
    "strip swapcase title translate upper zfill"
)

_BYTES = names_in("decode hex fromhex count find index join split startswith endswith strip replace")

ATTRIBUTES: dict[type, frozenset[str]] = {
    str: _STR | _OPERATORS,
    bytes: _BYTES | _OPERATORS,
    bytearray: _BYTES | names_in("append clear copy extend insert pop remove reverse __setitem__ __delitem__") | _OPERATORS,
    int: _NUMBER | names_in("bit_length bit_count to_bytes from_bytes") | _ARITHMETIC,
    bool: _NUMBER | names_in("bit_length bit_count") | _ARITHMETIC,
    float: _NUMBER | names_in("hex fromhex") | _ARITHMETIC,
    complex: names_in("real imag conjugate"),
    list: _SEQUENCE | names_in("append clear copy extend insert pop remove reverse sort __setitem__ __delitem__ __init__") | _OPERATORS,
    tuple: _SEQUENCE | _OPERATORS,
    range: _SEQUENCE | names_in("start stop step __len__"),
    slice: names_in("start stop step indices"),
    dict: _DICT | names_in("__setitem__ __delitem__ __init__") | _OPERATORS,
    set: names_in(
        "add clear copy difference difference_update discard intersection intersection_update isdisjoint issubset "
        "issuperset pop remove symmetric_difference symmetric_difference_update union update"
    ) | _OPERATORS,
    frozenset: names_in(
        "copy difference intersection isdisjoint issubset issuperset symmetric_difference union"
    ) | _OPERATORS,
    collections.OrderedDict: _DICT | names_in("move_to_end __setitem__") | _OPERATORS,
    collections.defaultdict: _DICT | names_in("default_factory __setitem__") | _OPERATORS,
    collections.Counter: _DICT | names_in("elements most_common subtract total __setitem__") | _OPERATORS,
    collections.deque: _SEQUENCE | names_in(
        "append appendleft clear copy extend extendleft insert maxlen pop popleft remove reverse rotate"
    ) | _OPERATORS,
    GeneratorType: names_in("send throw close __next__ __iter__ __name__"),
    FunctionType: _FUNCTION | names_in("from_iterable"),  # of `itertools.chain`, which is a function here
    MethodType: _FUNCTION,
    BuiltinFunctionType: _FUNCTION,
    type(str.upper): _FUNCTION,
    type("".__len__): _FUNCTION,
    type(str.__len__): _FUNCTION,
    property: names_in("setter getter deleter __doc__"),
    functools.partial: names_in("func args keywords"),
    type(functools.lru_cache(abs)): names_in("cache_info cache_clear __name__ __doc__"),
    functools.cached_property: frozenset(),
    type({}.keys()): names_in("isdisjoint mapping") - {"mapping"},
    type({}.values()): frozenset(),
    type({}.items()): names_in("isdisjoint"),
    enum.Enum: names_in("name value"),
    enum.Flag: names_in("name value"),
    re.Pattern: names_in("search match fullmatch findall finditer sub subn split pattern groups groupindex flags"),
    re.Match: names_in("group groups groupdict start end span expand pos endpos lastindex lastgroup string re"),
    type(None): frozenset(),
    type(Ellipsis): frozenset(),
    type(NotImplemented): frozenset(),
    object: frozenset(),
}
"""Type -> the names that its values, and the type itself, offer. A type that is not here offers nothing."""

EXCEPTION_ATTRIBUTES: dict[type[BaseException], frozenset[str]] = {
    StopIteration: names_in("value"),
    NameError: names_in("name"),
    SystemExit: names_in("code"),
    AttributeError: names_in("name"),
    ImportError: names_in("name msg"),
    OSError: names_in("errno strerror"),
    BaseException: names_in("args add_note __cause__ __context__ __str__ __repr__ __init__"),
}
"""Exception class -> what it and its subclasses offer; never a traceback, which leads to frames."""


def offer(kind: type, names: str) -> type:
    """Let the values of a type that a library brings offer these names; return the type."""
    ATTRIBUTES.setdefault(kind, names_in(names))
    return kind


def table_of(kind: type) -> frozenset[str] | None:
    """Return what values of exactly this type offer, or None for a type that no list names."""
    found = ATTRIBUTES.get(kind)
    if found is None and issubclass(kind, BaseException):
        found = frozenset().union(*(names for base, names in EXCEPTION_ATTRIBUTES.items() if issubclass(kind, base)))
    return found


def public(name: object) -> bool:
    """Tell whether a name is an ordinary one: a plain string that Python gives no meaning of its own."""
    return type(name) is str and not (name[:2] == "__" == name[-2:]) and name.isidentifier()
