"""The random numbers of a batch, drawn example by example: what `vmap(randomness="different")` draws.

PyTorch runs the function once for the whole batch: its first random operation draws for all examples, then the second does.
Here the function runs once an example, so the first example draws for all, and each other one takes its row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.rng.generator import Generator
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class RowGenerator(Generator):
    """The generator of one example after the other (`begin`); it draws from another generator, for `rows` of them."""

    def __init__(self, inner: Generator, rows: int) -> None:
        self.inner = inner
        self.rows = rows
        self.row = 0
        self.place = 0
        self.drawn: list[Any] = []
        """For each random operation of the function: what it drew for all rows, or the states from which each row draws."""

    def begin(self, row: int) -> None:
        """Draw for this row from now on."""
        self.row, self.place = row, 0

    def _next(self, make: Callable[[], object]) -> Any:
        """Return what the next random operation of the function has for all rows; `make` makes it for the first of them."""
        if self.place == len(self.drawn):
            self.drawn.append(make())
        self.place += 1
        return self.drawn[self.place - 1]

    def get_state(self) -> Array:
        """Return the state of the generator that is drawn from."""
        return self.inner.get_state()

    def set_state(self, state: Array) -> Generator:
        """Set the state of the generator that is drawn from."""
        self.inner.set_state(state)
        return self

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator that is drawn from."""
        self.inner.manual_seed(seed)
        return self


def _of_shape(name: str, place: int) -> Callable[..., Array]:
    """Return a method whose argument at `place` is a shape: it draws with the rows as a first dimension."""

    def draw(self: RowGenerator, *args: Any, **kwargs: Any) -> Array:
        given, named = list(args), dict(kwargs)
        shape = named["shape"] if "shape" in named else given[place]
        if "shape" in named:
            named["shape"] = (self.rows, *shape)
        else:
            given[place] = (self.rows, *shape)
        found: Array = self._next(lambda: getattr(self.inner, name)(*given, **named))[self.row]
        if found.shape != tuple(shape):
            raise _depends(name)
        return np.array(found)

    return draw


def _of_values(name: str) -> Callable[..., Array]:
    """Return a method that draws as many numbers whatever its arguments hold: each row draws from where the one before ended."""

    def draw(self: RowGenerator, *args: Any, **kwargs: Any) -> Array:
        inner, method = self.inner, getattr(self.inner, name)

        def states() -> list[Array]:
            found = []
            for _ in range(self.rows):
                found.append(inner.get_state())
                method(*args, **kwargs)
            return found

        state = self._next(states)[self.row]
        after = inner.get_state()
        inner.set_state(state)
        found: Array = method(*args, **kwargs)
        inner.set_state(after)
        return found

    return draw


def _depends(name: str) -> Exception:
    message = f"how many random numbers {name} draws depends on its arguments, of which a loop over the batch knows one example at a time"
    way = "draw the random numbers before, and give them as an argument"
    return fail("type", message, NotImplementedError, way=way)


def _refused(name: str) -> Callable[..., Array]:
    def draw(self: RowGenerator, *_: Any, **__: Any) -> Array:
        raise _depends(name)

    return draw


for _name, _place in {
    "uniform": 0, "normal": 0, "exponential": 0, "log_normal": 0, "cauchy": 0, "geometric": 0, "random_full": 0, "dropout_mask": 0,
    "bernoulli": 1, "randint": 2,
}.items():
    setattr(RowGenerator, _name, _of_shape(_name, _place))
for _name in ("bernoulli_of", "multinomial", "randperm"):
    setattr(RowGenerator, _name, _of_values(_name))
for _name in ("gamma", "poisson", "binomial"):
    setattr(RowGenerator, _name, _refused(_name))
