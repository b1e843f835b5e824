"""One file a family of operations, each operation a record. A family is imported when one of its operations is asked for.

`families.py` says which file declares which names; `python -m tools.families` (part of `make docs`) writes it anew.
"""

def __getattr__(name: str) -> object:
    """Find `torch.ops.aten` on first use."""
    if name != "aten":
        raise AttributeError(f"module 'gradsh.ops' has no attribute {name!r}")
    return __import__("gradsh.ops.overload_names", fromlist=[name]).aten


_homes: dict[str, str] = {}
_all: list[bool] = []


def homes() -> dict[str, str]:
    """Return the family that declares each operation and each operator (`__radd__`)."""
    if not _homes:
        from gradsh.ops.families import FAMILIES

        for family, names in FAMILIES.items():
            _homes.update(dict.fromkeys(names.split(), family))
    return _homes


def load(name: str) -> bool:
    """Import the family that declares an operation or operator; tell whether there is one."""
    family = homes().get(name)
    if family is None:
        return False
    __import__(f"gradsh.ops.{family}")
    return True


def load_all() -> bool:
    """Import every family; tell whether any was missing."""
    if _all:
        return False
    for family in dict.fromkeys(homes().values()):
        __import__(f"gradsh.ops.{family}")
    _all.append(True)
    return True
