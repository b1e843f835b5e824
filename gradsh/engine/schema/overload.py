"""The record of one overload of an operation, and what is worked out of it once: how its derivatives are called, what is saved.

The notation, of which the parameter names of derivatives are the heart, is explained in `dispatch/declare.py`.
"""

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from gradsh.engine.graph.node import offer
from gradsh.engine.schema.python_functions import is_python
from gradsh.engine.schema.signature import REQUIRED, Signature

Formula = Callable[..., Any]
FALLBACK = object()
"""What a fast path returns when the case is not plain: the general way is taken."""


def fall_back(*_: object) -> object:
    """Leave a call, or a node, to the general way."""
    return FALLBACK


KEEP = object()
"""Passed to a step as `location` when the pass retains its graph: nothing is freed."""


SPECIALIZE_AFTER = 2
"""Uses of an operation, or of its nodes, before its fast path is written: that takes 0.3 ms, what 40 uses save, and a script that
does something a third time is likely to go on."""
SPECIALIZE_NOW_BYTES = 1 << 22
"""Bytes of a gradient for which the step is written at once: it gives memory that is read for the last time away."""


_SHOWN = {
    "sizes": "sym_sizes", "numel": "sym_numel", "strides": "sym_strides", "optsizes": "sym_sizes_opt",
    "argsize0": "sym_argsize_0", "argsize1": "sym_argsize_1", "argsize2": "sym_argsize_2",
    "argsize1m": "sym_argsize_minus_1", "argsize2m": "sym_argsize_minus_2",
}
"""How PyTorch's attributes spell what a formula asks of an input: `_saved_self_sym_sizes`."""


def _shown(name: str) -> str:
    source, _, what = name.rpartition("_")
    return f"{source}_{_SHOWN[what]}" if what in _SHOWN else name


class SavedSlot:
    """One saved name: where it comes from, and which edges' needs it depends on, any of them (none: ())."""

    __slots__ = ("guard", "name", "output", "param")

    def __init__(self, name: str, param: int, output: int, guard: tuple[int, ...] = ()) -> None:
        self.name = name
        self.param = param
        self.output = output
        self.guard = guard


class DerivativePlan:
    """A record's derivatives, compiled on first use: edges, what is saved, how each formula is called."""

    __slots__ = (
        "asked", "attributes", "defaults", "edges", "formulas", "keeps_results", "lists", "names", "order", "saves", "shown", "sizes",
        "value_names", "values",
    )

    def __init__(self, record: "Overload") -> None:
        params = record.signature.params
        index = record.signature.index
        keys = [key if isinstance(key, tuple) else (key,) for key in record.grads]
        wanted = {name for key in keys for name in key}
        self.edges = tuple(place for place, param in enumerate(params) if param.name in wanted)
        self.names: list[str] = []
        self.sizes: set[str] = set()
        self.attributes: set[str] = set()
        """Names of the arguments and sizes that the formulas read: what PyTorch's node keeps of them."""
        self.values = tuple(place for place, param in enumerate(params) if param.type not in _TENSOR_TYPES)
        readers: dict[str, list[tuple[str, ...]]] = {}
        self.formulas: list[tuple[tuple[int, ...], Formula, tuple[tuple[str, Any], ...], bool]] = []
        slots = {params[place].name: slot for slot, place in enumerate(self.edges)}
        for key, formula in zip(keys, record.grads.values(), strict=True):
            names = parameter_names(formula)
            for name in names:
                if record.is_saved_name(name):
                    readers.setdefault(name, []).append(key)
        order = [param.name for param in params if param.name in readers]
        order += sorted(name for name in readers if name not in index)
        order += [name for name in record.saves if name not in order]
        self.names = order
        self.order = tuple(sorted(range(len(order)), key=lambda place: (order[place] not in index, order[place])))
        """The order in which PyTorch saves, and looks at what was saved: inputs by name, then results."""
        self.saves = tuple(self._save(record, name, readers.get(name, []), slots) for name in order)
        for key, formula in zip(keys, record.grads.values(), strict=True):
            calls = tuple(self._argument(record, name) for name in parameter_names(formula))
            targets = tuple(slots[name] for name in key)
            self.formulas.append((targets, formula, calls, len(key) > 1))
        self.keeps_results = any(save.output >= 0 for save in self.saves)
        self.lists = any(params[place].type in {"Tensors", "Indices"} for place in self.edges)
        self.defaults = {params[place].name: params[place].default for place in self.values}
        """The arguments that are no tensors, where none is given: nodes of plain calls share it."""
        self.value_names = tuple((params[place].name, place) for place in self.values)
        self.asked = tuple(self._asked(name, index) for name in sorted(self.sizes))
        """What formulas ask of inputs without saving them: name, which input, what, the input's edge (-1: none)."""
        chosen = self.attributes if record.attributes is None else record.attributes
        self.shown = {name: _shown(name) if name in self.sizes else name for name in chosen if not name.endswith("_dtype")}
        """What the node shows of arguments and sizes, and how PyTorch spells it."""
        offer((*self.names, *self.shown.values()))

    def _asked(self, name: str, index: dict[str, int]) -> tuple[str, int, str, int]:
        source, _, what = name.rpartition("_")
        place = index[source]
        return name, place, what, self.edges.index(place) if place in self.edges else -1

    def _save(self, record: "Overload", name: str, readers: list[tuple[str, ...]], slots: dict[str, int]) -> SavedSlot:
        index = record.signature.index
        if name not in index:
            return SavedSlot(name, -1, record.output_number(name))
        alone = len(slots) > 1 and len(readers) == 1 and len(readers[0]) == 1 and not record.unguarded
        guard: tuple[int, ...] = (slots[readers[0][0]],) if alone and name not in record.saves else ()
        guard = tuple(slots[one] for one in record.guards.get(name, ())) or guard
        return SavedSlot(name, index[name], -1, guard)

    def _argument(self, record: "Overload", name: str) -> tuple[str, object]:
        if name in {"grad", "grads", "needs"}:
            return name, 0
        if name.startswith("grad") and name[4:].isdigit():
            return "output", int(name[4:])
        if name in self.names:
            return "saved", self.names.index(name)
        if name in record.signature.index:
            self.attributes.add(name)
            return "value", name
        for ending in SIZE_ENDINGS:
            if name.endswith(ending) and name.removesuffix(ending) in record.signature.index:
                self.sizes.add(name)
                self.attributes.add(name)
                return "value", name
        raise AssertionError(f"{record.signature.name}: what is {name!r} in a derivative?")


def parameter_names(formula: Formula | None) -> tuple[str, ...]:
    """Return what a formula reads; a derivative that PyTorch does not have (None) reads nothing."""
    if formula is None:
        return ()
    while hasattr(formula, "__wrapped__"):
        formula = formula.__wrapped__
    code = formula.__code__
    named: tuple[str, ...] = getattr(formula, "reads", code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    return named


_TENSOR_TYPES = frozenset({"Tensor", "Operand", "Tensors", "Indices"})
SIZE_ENDINGS = (
    "_sizes", "_optsizes", "_numel", "_strides", "_offset", "_dim", "_dtype", "_argsize0", "_argsize1", "_argsize2",
    "_argsize1m", "_argsize2m",
)
"""What a formula may ask of a tensor input without saving it: `self_sizes`, …; `optsizes` admits None, `argsize1m` is the
extent of the last dim."""


_BARE: dict[str, frozenset[type]] = {
    "Tensor": frozenset({ndarray}), "Operand": frozenset({ndarray}), "int": frozenset({int}), "ints": frozenset({tuple}),
    "float": frozenset({float}), "number": frozenset({int, float, bool}), "bool": frozenset({bool}), "str": frozenset({str}),
}
"""The types of arguments that a signature would hand on as they are, by the type of the parameter."""


PARTS: dict[str, object] = {
    "forward": None, "check": None, "grads": {}, "plain": {}, "dtypes": "keep", "kind": "primitive", "inplace": None, "ufunc": None,
    "layout": None, "returns": None, "fields": (), "outputs": (), "saves": (), "guards": {}, "unguarded": False, "writes": False,
    "multi_view": False, "attributes": None, "samples": (), "note": "", "example": "", "forward_mode": "",
    "reduced": "",
}
"""What `op` takes by name, documented there, with what it is where it is not given."""


class Overload:
    """One overload of an operation. Attributes are the arguments of `op`, documented there."""

    __slots__ = (
        "_accepted", "_defaults", "_plan", "_required", "_signature", "compact_step", "doc", "is_elementwise", "name", "node",
        "recorded_step", "spaces", "step", "steps", "tensors", "text", "typed", *PARTS,
    )

    typed: tuple[int, ...]
    """The places of tensors and of dtypes that are asked for."""
    forward: Callable[..., Any]
    ufunc: Callable[..., Any] | None
    check: Callable[..., None] | None
    grads: dict[Any, Any]
    plain: dict[str, Formula]
    guards: dict[str, tuple[str, ...]]
    dtypes: str
    kind: str
    layout: str
    inplace: Any
    returns: int | None
    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    saves: tuple[str, ...]
    unguarded: bool
    writes: bool
    multi_view: bool
    attributes: tuple[str, ...] | None
    samples: tuple[Any, ...]
    note: str
    example: str
    forward_mode: str
    reduced: str

    def __init__(self, text: str, node: str, doc: str, **parts: object) -> None:
        self.text = text
        self.name = text.partition("(")[0]
        self.node = node
        self.doc = doc
        self._signature: Signature | None = None
        self._plan: Any = None
        self._accepted: tuple[frozenset[type], ...] | None = None
        self._required = 0
        self._defaults: tuple[Any, ...] = ()
        self.step: Callable[..., Any]
        """The fast path of a backward pass through nodes of the record (`codegen/backward.py`)."""
        self.compact_step: Callable[..., Any]
        """The same through its `CompactNode`s."""
        self.recorded_step: Callable[..., Any]
        """The same in a pass that is recorded itself."""
        self.steps = 0
        self.tensors: tuple[int, ...] | None = None
        self.spaces: tuple[str, ...] = ()
        """The namespaces that it was declared for."""
        for part, value in {**PARTS, **parts}.items():
            setattr(self, part, value)
        self.outputs = self.outputs or self.fields
        if self.layout is None:
            self.layout = "operands" if self.kind == "primitive" and self.dtypes in {"promote", "float"} else ""
        self.is_elementwise = self.layout in {"operands", "reversed"}
        """Whether the result lies in memory as the operands do."""

    @property
    def signature(self) -> Signature:
        """The parsed signature."""
        if self._signature is None:
            self._signature = Signature(self.text, is_python(self.name, self.spaces))
            kinds = [param.type for param in self._signature.params]
            self.tensors = tuple(place for place, kind in enumerate(kinds) if kind in _TENSOR_TYPES)
            self.typed = tuple(place for place, kind in enumerate(kinds) if kind in _TENSOR_TYPES or kind == "dtype")
        return self._signature

    @property
    def plan(self) -> DerivativePlan:
        """The compiled derivatives."""
        if self._plan is None:
            self._plan = DerivativePlan(self)
        return self._plan  # type: ignore[no-any-return]

    def bare(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return what the kernel can be called with as it is, or None: arrays, and arguments that need no conversion.

        So formulas run the operations that they name without fitting the call to a signature.
        """
        accepted = self._accepted
        if accepted is None:
            accepted = self._accepted = self._bare_types()
        given, count = len(args), len(accepted)
        if given != count:
            if given > count or given < self._required:
                return None
            args = args + self._defaults[given:]
        alike = args[0].dtype if self.dtypes != "keep" or self.check is not None else None
        if alike is not None and alike.kind != "f":
            return None
        for one, types in zip(args, accepted, strict=True):
            if type(one) not in types or (alike is not None and type(one) is ndarray and one.dtype is not alike):
                return None
        return args

    def _bare_types(self) -> tuple[frozenset[type], ...]:
        """Return the types that each parameter takes as they are; none at all where the kernel is not to be called alone."""
        params = self.signature.params
        if self.kind not in {"primitive", "view"} or self.returns is not None or any(one.variadic or one.keyword_only for one in params):
            return ()
        self._required = sum(one.default is REQUIRED for one in params)
        self._defaults = tuple(one.default for one in params)
        none = frozenset({type(None)})
        return tuple(_BARE.get(one.type, none if one.optional else frozenset()) | (none if one.optional else frozenset()) for one in params)

    def is_saved_name(self, name: str) -> bool:
        """Whether a derivative's parameter stands for a saved tensor."""
        place = self.signature.index.get(name)
        if place is not None:
            return self.signature.params[place].type in _TENSOR_TYPES
        return self.output_number(name) >= 0

    def output_number(self, name: str) -> int:
        """Return which output of the kernel a name stands for (result, result1, … or one of `outputs`), -1 for none."""
        if name in self.outputs:
            return self.outputs.index(name)
        if name == "result":
            return 0
        return int(name[6:]) if name.startswith("result") and name[6:].isdigit() else -1
