"""torch.utils.checkpoint: parts of a graph that save nothing and are computed again when backward needs them.

The forward runs with hooks that keep a `Recomputed` in each saved tensor's place. The first one that backward asks for
runs the function again, under the random state it had, and fills all of them.
"""

import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from gradsh.api.amp import autocast_as_now
from gradsh.api.function import Function
from gradsh.api.saved import saved_tensors_hooks
from gradsh.api.selective import Logging
from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.autograd.backward import backward
from gradsh.engine.dispatch.op_node import keep
from gradsh.engine.dispatch.saved_hooks import pack_entries
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import Recomputed, SavedVariable
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.device import CPU
from gradsh.engine.values.dtype import of_numpy
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail


class CheckpointError(RuntimeError):
    """The recomputation did not save what the forward had saved."""


class _Enough(Exception):
    """Ends a recomputation as soon as everything that was saved has been computed."""


class NoopSaveInputsBackward(Node):
    """What keeps the arguments with which a checkpointed function is to be called again: no tensor among them may be modified until
    then. Hooks on saved tensors that stand around the checkpoint pack these tensors.
    """

    __slots__ = ("arguments", "versions")

    def __init__(self, arguments: tuple[object, ...]) -> None:
        super().__init__((), ())
        self.arguments = arguments
        self.versions = tuple([one.counter.version if isinstance(one, Tensor) else 0 for one in arguments])
        if current().saved_hooks:
            self.raw = tuple([keep(one) if isinstance(one, Tensor) else None for one in arguments])
            pack_entries(self)
            self.arguments = tuple([None if self._is_packed(place) else one for place, one in enumerate(arguments)])

    def _is_packed(self, place: int) -> bool:
        return bool(self.raw) and self.raw[place] is not None and self.raw[place].packed is not None

    def saved_names(self) -> tuple[str, ...]:
        """Return a name for each argument."""
        return ("input",) * len(self.arguments)

    def restored(self) -> list[Any]:
        """Return the arguments; raises the error of a saved tensor that was modified, if one was."""
        found = []
        for place, (one, version) in enumerate(zip(self.arguments, self.versions, strict=True)):
            if isinstance(one, Tensor) and one.counter.version != version:
                raise self.modified(SavedVariable(one.array, one.counter, version, one.edge), place)
            found.append(self.unpack(place, as_tensor=True) if self._is_packed(place) else one)
        return found


class _Frame:
    """One call of checkpoint: the function and its arguments, and what its forward saved."""

    __slots__ = ("autocast", "checked", "completed", "contexts", "early", "function", "holders", "kwargs", "logs", "random", "saver")

    def __init__(
        self, function: Callable[..., Any], args: tuple[object, ...], kwargs: Mapping[str, object], keep: bool, checked: bool,
        early: bool, context: Any, logs: Any,
    ) -> None:
        self.logs: tuple[list[str], list[str]] | None = logs
        """The operations of the forward and of the second run, where the program asked for them."""
        self.checked = checked
        self.early = early
        self.contexts = context
        self.function = function
        self.kwargs = kwargs
        self.saver = NoopSaveInputsBackward(args)
        self.random = current().generator.get_state() if keep else None
        self.autocast = autocast_as_now()
        self.holders: list[weakref.ref[Recomputed]] = []
        self.completed = False
        """Whether the forward is over: what runs a pass within it computes again what it has saved so far."""

    def pack(self, tensor: Tensor) -> Recomputed:
        """Note that the forward saved a tensor of this shape."""
        holder = Recomputed(self, tensor.array.shape, tensor.array.dtype)
        self.holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: Recomputed) -> Tensor:
        """Return the tensor, computing the whole part again if this pass has not done so."""
        running = current().running
        if running is None or holder.running is None or holder.running() is not running:
            try:
                self._recompute(None if running is None else weakref.ref(running))
            except CheckpointError as error:
                if self.logs is None:
                    raise
                raise _mismatch(_LOGS.format(*("\n".join(log) for log in self.logs))) from error
        if holder.value is None:
            raise _mismatch(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your "
                "use case."
            )
        value, holder.value = holder.value, None
        return value

    def _recompute(self, running: Any) -> None:
        arguments = self.saver.restored()
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            found.append(tensor.detach() if tensor.requires_grad else tensor)
            if len(found) > len(self.holders) and self.completed:
                raise _mismatch("torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                                "forward pass.")
            if self.early and len(found) == len(self.holders):
                raise _Enough
            return tensor

        ambient = current()
        before = ambient.generator.get_state() if self.random is not None else None
        try:
            if self.random is not None:
                ambient.generator.set_state(self.random)
            with grad_mode(True), self.autocast, self.contexts, saved_tensors_hooks(collect, lambda tensor: tensor):
                self.function(*arguments, **self.kwargs)
        except _Enough:
            pass
        finally:
            if before is not None:
                ambient.generator.set_state(before)
        self._fill(found, running)

    def _fill(self, found: list[Tensor], running: object) -> None:
        if len(found) < len(self.holders) or (self.completed and len(found) != len(self.holders)):
            raise _different_number(len(self.holders), len(found))
        changed = []
        for place, (reference, value) in enumerate(zip(self.holders, found)):  # noqa: B905  (unchecked, they may differ)
            holder = reference()
            if holder is None:
                continue
            if self.checked and (value.array.shape, value.array.dtype) != (holder.shape, holder.dtype):
                changed.append((place, holder, value))
            holder.value = value
            holder.running = running
        if changed:
            raise _different_metadata(changed)


_LOGS = """An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

Operations executed during the original forward:

{}

Operations executed during recomputation:

{}

 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation."""


def _mismatch(message: str, **facts: object) -> Exception:
    return fail("other", message, CheckpointError, checkpoint=True, **facts)


def _different_number(saved: int, computed: int) -> Exception:
    return _mismatch(
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
        f"Number of tensors saved during forward: {saved}\nNumber of tensors saved during recomputation: {computed}.",
        numbers=(saved, computed),
    )


def _different_metadata(changed: list[tuple[int, Recomputed, Tensor]]) -> Exception:
    head = "Recomputed values for the following tensors have different metadata than during the forward pass."
    lines = ["torch.utils.checkpoint: " + head]
    for place, holder, value in changed:
        lines.append(f"tensor at position {place}:")
        lines.append(f"saved metadata: {_metadata(holder.shape, holder.dtype)}")
        lines.append(f"recomputed metadata: {_metadata(value.array.shape, value.array.dtype)}")
    facts = tuple(
        (place, tuple(h.shape), of_numpy(h.dtype).name, tuple(v.array.shape), of_numpy(v.array.dtype).name) for place, h, v in changed
    )
    return _mismatch("\n".join(lines), changed=facts)


def _metadata(shape: tuple[int, ...], dtype: Any) -> str:
    return str({"shape": Size(shape), "dtype": of_numpy(dtype), "device": CPU})


_PASS_IT = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)


def checkpoint(
    function: Callable[..., object], *args: object, use_reentrant: bool | None = None, preserve_rng_state: bool = True,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, context_fn: object = None, **kwargs: object,
) -> Any:
    """Call `function(*args)` without keeping what its operations save; backward calls it again.

    Raises CheckpointError in backward when the second call saves other tensors than the first.
    """
    if use_reentrant is None:
        current().warning(_PASS_IT)
        use_reentrant = True
    if use_reentrant:
        if not any(isinstance(one, Tensor) and one.requires_grad for one in args):
            current().warning("None of the inputs have requires_grad=True. Gradients will be None")
        if kwargs:
            raise fail("value", "Unexpected keyword arguments: " + ",".join(kwargs), ValueError)
        if context_fn is not None or debug:
            message = "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            raise fail("value", message, ValueError)
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not current().grad_enabled:
        return function(*args, **kwargs)
    if determinism_check not in {"default", "none"}:
        message = f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        raise fail("value", message, ValueError)
    around, again, logs = _contexts(debug if _DEBUG.get() is None else _DEBUG.get(), context_fn)
    said = _EARLY_STOP.get()
    early = early_stop if said is None else said
    frame = _Frame(function, args, kwargs, preserve_rng_state, determinism_check == "default", early, again, logs)
    with saved_tensors_hooks(frame.pack, frame.unpack), around:
        found = function(*args, **kwargs)
    frame.completed = True
    return found


def _contexts(debug: object, context_fn: Any) -> tuple[Any, Any, Any]:
    """Return the contexts of the forward and of the second run, and what logs the operations of both (None: nothing does)."""
    if not debug:
        return (*((nullcontext(), nullcontext()) if context_fn is None else context_fn()), None)
    if context_fn is not None:
        raise fail("value", "debug=True is incompatible with non-default context_fn", ValueError)
    logs: tuple[list[str], list[str]] = ([], [])
    return Logging(logs[0]), Logging(logs[1]), logs


_EARLY_STOP: ContextVar[bool | None] = ContextVar("early stop", default=None)
"""What `set_checkpoint_early_stop` says; None outside of it."""
_DEBUG: ContextVar[bool | None] = ContextVar("debug", default=None)
"""What `set_checkpoint_debug_enabled` says; None outside of it."""


class _Saying:
    """A context that says something for all checkpoints called in it."""

    __slots__ = ("_said", "_token")
    __script_attributes__ = frozenset({"__enter__", "__exit__"})
    _variable: ContextVar[bool | None]

    def __init__(self, said: bool | None) -> None:
        self._said = said if said is None else bool(said)
        self._token: Any = None

    def __enter__(self) -> None:
        self._token = self._variable.set(self._said)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


class set_checkpoint_early_stop(_Saying):
    """Say whether recomputation ends as soon as all is there."""

    __slots__ = ()
    _variable = _EARLY_STOP

    def __init__(self, enable: bool) -> None:
        super().__init__(bool(enable))


class set_checkpoint_debug_enabled(_Saying):
    """Say whether a recomputation that differs shows the operations of both runs; None leaves it to each checkpoint."""

    __slots__ = ()
    _variable = _DEBUG

    def __init__(self, enabled: bool | None) -> None:
        super().__init__(enabled)


class CheckpointFunction(Function):
    """The older way: one node for the whole part, whose backward runs a backward of its own."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: object) -> Any:
        """Run the function unrecorded."""
        ctx.run_function = run_function
        ctx.random = current().generator.get_state() if preserve_rng_state else None
        ctx.autocast = autocast_as_now()
        ctx.others = tuple(None if isinstance(one, Tensor) else one for one in args)
        ctx.tensors = tuple(isinstance(one, Tensor) for one in args)
        ctx.save_for_backward(*(one for one in args if isinstance(one, Tensor)))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again, recorded, and backward through it."""
        if current().running is not None and current().running.targets is not None:
            message = (
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
            raise fail("other", message)
        saved = iter(ctx.saved_tensors)
        inputs = [
            next(saved) if given else other for given, other in zip(ctx.tensors, ctx.others, strict=True)
        ]
        fresh = [one.detach().requires_grad_(one.requires_grad) if isinstance(one, Tensor) else one for one in inputs]
        generator = current().generator
        before = generator.get_state()
        if ctx.random is not None:
            generator.set_state(ctx.random)
        with grad_mode(True), ctx.autocast:
            outputs = ctx.run_function(*fresh)
        if ctx.random is not None:
            generator.set_state(before)
        pairs = [
            (output, grad) for output, grad in zip(outputs if isinstance(outputs, tuple) else (outputs,), grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise fail("no_grad", "none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *(one.grad if isinstance(one, Tensor) else None for one in fresh))


def checkpoint_sequential(
    functions: Any, segments: int, input: object, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: object
) -> Any:
    """Run modules one after the other, in segments of which all but the last are checkpointed."""
    if kwargs:
        raise fail("value", "Unexpected keyword arguments: " + ",".join(kwargs), ValueError)
    if use_reentrant is None:
        current().warning(_PASS_IT)
        use_reentrant = True
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    size = len(steps) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            run(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return run(end, len(steps))(input)


def get_device_states(*args: object) -> tuple[list[int], list[Tensor]]:
    """Return the random states of the GPUs that hold the arguments: there is none."""
    del args
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Put such states back."""
    del devices, states, device_type
