"""What stands in for modules that change no number: progress bars, plots, loggers of experiments.

Each says once that it stands in, and as what.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from gradsh.api.stand_ins import NOTHING, Nothing
from gradsh.engine.attribute_names import ScriptBase
from gradsh.runtime.library import Library
from gradsh.runtime.numpy_names import load_numpy

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


class Progress(ScriptBase):
    """`tqdm`: its argument, with the methods of a progress bar, which show nothing."""

    def __init__(self, iterable: Any = None, *_: object, total: Any = None, **__: object) -> None:
        self.iterable = iterable
        self.total = total
        self.n = 0

    def __iter__(self) -> Iterator[Any]:
        for value in self.iterable:
            self.n += 1
            yield value

    def __len__(self) -> int:
        return len(self.iterable) if self.total is None else self.total

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def update(self, n: int = 1) -> None:
        """Count on."""
        self.n += n

    def set_description(self, *_: object, **__: object) -> None:
        """Take what a bar would show and show nothing."""

    set_description_str = set_postfix = set_postfix_str = refresh = reset = close = clear = set_description


class AutoProgress(Progress):
    """The bar of `tqdm.auto`, which asks for an iterator when it is made: a data loader draws a seed for each."""

    def __init__(self, iterable: Any = None, *args: object, **options: object) -> None:
        super().__init__(iterable, *args, **options)
        if iterable is not None:
            iter(iterable)


def load_tqdm(machine: "Machine") -> Mapping[str, object]:
    """Return what `tqdm` offers."""
    members = _bars(machine, Progress)
    return members | {"tqdm_notebook": members["tqdm"], "auto": Library("tqdm.auto", lambda: _bars(machine, AutoProgress))}


def _bars(machine: "Machine", kind: type[Progress]) -> dict[str, Any]:
    write = staticmethod(lambda text, *_, **__: machine.on_print(f"{text}\n"))
    bar: Any = type("tqdm", (kind,), {"__module__": "tqdm", "write": write})

    def trange(*numbers: int, **options: object) -> object:
        """Return `tqdm(range(…))`."""
        return bar(machine.builtins["range"](*numbers), **options)

    return {"tqdm": bar, "trange": trange}


def load_plots(machine: "Machine") -> Mapping[str, Any]:
    """Return what `matplotlib.pyplot` offers: figures and axes that keep nothing."""
    return _plots({"pylab": Library("matplotlib.pylab", lambda: load_pylab(machine))})


def load_pylab(machine: "Machine") -> Mapping[str, Any]:
    """Return what `pylab` offers: plots, and numpy's functions and random numbers beside them."""
    arrays = load_numpy(machine)
    kept = {name: machine.builtins[name] for name in ("abs", "all", "any", "bool", "max", "min", "pow", "round", "sum")}
    return _plots({**arrays, **arrays["linalg"].members(), **arrays["random"].members(), **kept, "np": Library("numpy", lambda: arrays)})


def _plots(others: Mapping[str, Any]) -> Mapping[str, Any]:
    rows = {name: PLOT.ask(name) for name in _ROWS}
    return Everything({**others, **dict.fromkeys(_PYPLOT.split(), PLOT), **rows, "subplots": subplots}, PLOT)


_PYPLOT = (
    "annotate arrow axes axhline axhspan axis axline axvline axvspan bar barbs barh box boxplot cla clabel clf clim close "
    "cm colorbar contour contourf delaxes draw errorbar eventplot figimage figlegend fignum_exists figtext figure fill "
    "fill_between fill_betweenx gca gcf gci get_cmap get_current_fig_manager get_fignums getp ginput gray grid hexbin hist "
    "hist2d hlines hot imread imsave imshow ioff ion isinteractive jet legend locator_params loglog margins matshow "
    "matplotlib minorticks_off minorticks_on pause pcolor pcolormesh pie plot polar psd quiver rc rcParams rc_context rcdefaults "
    "savefig sca scatter sci semilogx semilogy set_cmap setp show specgram spy stackplot stairs stem step streamplot style "
    "subplot subplot2grid subplot_mosaic subplots_adjust suptitle switch_backend table text tick_params ticklabel_format "
    "tight_layout title tricontour tricontourf tripcolor triplot twinx twiny violinplot viridis vlines xlabel xlim xscale "
    "xticks ylabel ylim yscale yticks"
)
"""The names that `from matplotlib.pyplot import *` binds; any other is answered when it is asked for."""


class Plot(Nothing):
    """A figure, or what is drawn into it; a call gives as many things as matplotlib's call does, where a program unpacks them."""

    def __getattr__(self, name: str) -> Any:
        return self.ask(name) if name in _ROWS else super().__getattr__(name)

    def ask(self, name: str) -> Any:
        """Return the method that gives several things."""
        count = _ROWS[name]
        return lambda *args, **_: Axes(count or _curves(args))


PLOT = Plot()
_ROWS = {"plot": 0, "loglog": 0, "semilogx": 0, "semilogy": 0, "errorbar": 3, "hist": 3, "stem": 3, "hist2d": 4}
"""Name -> how many things its call gives; 0: as many as it draws curves."""


def _curves(args: tuple[object, ...]) -> int:
    """Return how many curves a call of `plot` draws: each has one or two rows of numbers, and perhaps a text."""
    count = rows = 0
    for one in args:
        text = isinstance(one, str)
        count += not text and rows % 2 == 0
        rows = 0 if text else rows + 1
    return max(count, 1)


class Axes(Plot):
    """The axes of a figure with several: as many things that keep nothing, to be unpacked, indexed and gone through."""

    __script_attributes__ = frozenset({"flat", "flatten", "ravel", "shape", "size"})  # type: ignore[assignment]

    shape: tuple[int, ...]

    def __init__(self, *shape: int) -> None:
        vars(self)["shape"] = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Nothing:
        places = key if isinstance(key, tuple) else (key,)
        chosen = [range(length)[place] for length, place in zip(self.shape, places + (slice(None),) * len(self.shape), strict=False)]
        left = [len(one) for one in chosen if isinstance(one, range)]
        return Axes(*left) if left else PLOT

    def __iter__(self) -> Iterator[Nothing]:
        return (self[place] for place in range(len(self)))

    def ravel(self) -> "Axes":
        """Return all axes in one row."""
        return Axes(self.size)

    flatten = ravel
    flat = property(ravel)
    size = property(lambda self: prod(self.shape))


def subplots(nrows: int = 1, ncols: int = 1, *, squeeze: bool = True, **_: object) -> tuple[Nothing, Nothing]:
    """Return a figure and as many axes as are asked for."""
    shape = [count for count in (nrows, ncols) if count > 1 or not squeeze]
    return PLOT, Axes(*shape) if shape else PLOT


class Everything(dict[str, Any]):
    """The members of a module that answers every name with something that keeps nothing."""

    def __init__(self, members: Mapping[str, Any] | None = None, otherwise: Nothing = NOTHING) -> None:
        super().__init__(members or {})
        self._otherwise = otherwise

    def __missing__(self, name: str) -> Nothing:
        return self._otherwise


def load_everything(_: "Machine") -> Mapping[str, object]:
    """Return what a module offers whose every name keeps nothing."""
    return Everything()
