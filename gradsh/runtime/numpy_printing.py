"""How numpy prints arrays: options that numpy keeps for the process, and gradsh for one program while it runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

_OPTIONS = frozenset({"precision", "threshold", "edgeitems", "linewidth", "suppress", "nanstr", "infstr", "formatter", "sign", "floatmode"})
_DEFAULTS: Mapping[str, Any] = {name: value for name, value in np.get_printoptions().items() if name in _OPTIONS}


class ArrayPrinting:
    """The options of one program: entering sets them, leaving gives numpy its own back."""

    def __init__(self) -> None:
        self.options: dict[str, Any] | None = None

    def __enter__(self) -> None:
        if self.options is not None:
            np.set_printoptions(**self.options)

    def __exit__(self, *_: object) -> None:
        if self.options is not None:
            np.set_printoptions(**_DEFAULTS)

    def set_printoptions(self, **options: Any) -> None:
        """Change options, as numpy's function does. Raises TypeError for one that it does not have."""
        unknown = options.keys() - _OPTIONS
        if unknown:
            raise TypeError(f"set_printoptions() got an unexpected keyword argument '{min(unknown)}'")
        given = {name: value for name, value in options.items() if value is not None or name == "formatter"}
        np.set_printoptions(**given)
        self.options = {**(self.options or _DEFAULTS), **given}

    def get_printoptions(self) -> dict[str, object]:
        """Return the options, by name."""
        return dict(self.options or _DEFAULTS)

    def members(self) -> Mapping[str, object]:
        """Return what `numpy` offers of it."""

        def set_printoptions(**options: object) -> None:
            """Change how arrays print."""
            self.set_printoptions(**options)

        def get_printoptions() -> dict[str, object]:
            """Return how arrays print, by name."""
            return self.get_printoptions()

        @contextmanager
        def printoptions(**options: object) -> Iterator[dict[str, object]]:
            """Change how arrays print in a block."""
            before = self.get_printoptions()
            self.set_printoptions(**options)
            try:
                yield self.get_printoptions()
            finally:
                self.set_printoptions(**before)

        return {one.__name__: one for one in (set_printoptions, get_printoptions, printoptions)}
