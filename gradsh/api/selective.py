"""Selective checkpointing: a policy says of each operation in a checkpoint whether its result is kept or computed again.

What is kept is the result itself, so that a kept operation runs once; a policy that keeps more than backward reads costs memory.
"""

import enum
from collections.abc import Callable
from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.saved_hooks import DISPATCH, Dispatch, watching
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.schema.overload import Overload
from gradsh.ops.overload_names import OpOverload, OpOverloadPacket, overload_of
from gradsh.text.fault import fail


class CheckpointPolicy(enum.Enum):
    """What becomes of an operation's result: it is kept, or computed again when backward needs it."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = frozenset({CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE})


class SelectiveCheckpointContext:
    """What a policy is told beside the operation and its arguments: the operation's result."""

    __slots__ = ("is_recompute", "op_output")
    __script_attributes__ = frozenset(__slots__)

    def __init__(self, *, is_recompute: bool, op_output: object = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


_RECOMPUTE, _CONSUMED = object(), object()
Storage = dict[OpOverload, list[Any]]


class _Between(Dispatch):
    """A context in which operations are told to it. They are counted by their names."""

    __slots__ = ("_before", "counts", "storage")
    __script_attributes__ = frozenset({"__enter__", "__exit__"})

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.counts: dict[OpOverload, int] = {}
        self._before: tuple[Any, Any] = (None, ())

    def __enter__(self) -> "_Between":
        ambient = current()
        self.counts.clear()
        self._before = ambient.flags.get(DISPATCH), ambient.saved_hooks
        ambient.flags[DISPATCH] = self
        watching(DISPATCH, True)
        return self

    def __exit__(self, *_: object) -> None:
        ambient = current()
        ambient.flags[DISPATCH], ambient.saved_hooks = self._before
        watching(DISPATCH, self._before[0] is not None)

    def number(self, operation: OpOverload) -> int:
        """Return how often an operation came before, and count it."""
        self.counts[operation] = before = self.counts.get(operation, -1) + 1
        return before


class Logging(_Between):
    """Lists the operations."""

    __slots__ = ("_log",)

    def __init__(self, log: list[str]) -> None:
        super().__init__({})
        self._log = log

    def __enter__(self) -> "_Between":
        self._log.clear()
        return super().__enter__()

    def ran(self, record: Overload, values: list[Any], outputs: object, made: object) -> None:
        """List an operation."""
        del outputs, made
        self._log.append(f"torch.ops.{overload_of(record, values)}")


class _Caching(_Between):
    """The forward: asks the policy of each operation, and keeps what it says."""

    __slots__ = ("policy",)

    def __init__(self, policy: Callable[..., object], storage: Storage) -> None:
        super().__init__(storage)
        self.policy = policy

    def ran(self, record: Overload, values: list[Any], outputs: object, made: object) -> None:
        """Keep the outputs of an operation, or note that they are not kept."""
        operation = overload_of(record, values)
        args, kwargs = _as_called(record, values)
        told = SelectiveCheckpointContext(is_recompute=False, op_output=made)
        policy = self.policy(told, operation, *args, **kwargs)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        results = [one for one in (made if isinstance(made, (tuple, list)) else (made,)) if isinstance(one, Tensor)]
        entry = (outputs, [(one.counter, one.counter.version) for one in results]) if policy in _KEPT else _RECOMPUTE
        self.storage.setdefault(operation, []).append(entry)


def _as_called(record: Overload, values: list[object]) -> tuple[list[object], dict[str, object]]:
    """Return the arguments as the dispatcher has them: without those at the end that are the defaults, some by name."""
    pairs = list(zip(record.signature.params, values, strict=True))
    named = {param.name: value for param, value in pairs if param.keyword_only and value is not param.default}
    placed = [(param, value) for param, value in pairs if not param.keyword_only]
    while placed and placed[-1][1] is placed[-1][0].default:
        placed.pop()
    return [value for _, value in placed], named


_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed between "
    "forward and backward."
)


class _Cached(_Between):
    """The second run: gives what was kept, each once."""

    __slots__ = ("allow_mutation",)

    def __init__(self, storage: Storage, allow_mutation: bool) -> None:
        super().__init__(storage)
        self.allow_mutation = allow_mutation

    def outputs(self, record: Overload, values: list[Any]) -> Any:
        """Return what was kept of an operation; None where it was not."""
        operation = overload_of(record, values)
        number, entries = self.number(operation), self.storage.get(operation)
        if entries is None:
            raise fail("other", f"{operation} encountered during backward but not found in storage. {_MISMATCH}")
        if number >= len(entries):
            message = f"{operation} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            raise fail("other", message)
        entry = entries[number]
        if entry is _RECOMPUTE:
            return None
        if entry is _CONSUMED:
            message = (
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
            raise fail("other", message)
        entries[number] = _CONSUMED
        outputs, versions = entry
        if not self.allow_mutation and any(counter.version != version for counter, version in versions):
            raise fail("version", "Tensor cached during selective activation checkpoint has been mutated")
        return outputs


def create_selective_checkpoint_contexts(policy_fn_or_list: object, allow_cache_entry_mutation: bool = False) -> tuple[_Between, _Between]:
    """Return the contexts of a checkpoint's forward and of its second run, for `checkpoint(..., context_fn=...)`.

    A policy is called with (context, operation, *args, **kwargs) and returns a CheckpointPolicy; a list holds the operations to keep.
    """
    if isinstance(policy_fn_or_list, list):
        for one in policy_fn_or_list:
            if not isinstance(one, OpOverload):
                more = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change "
                    "it to `torch.ops.aten.mm.default`."
                ) if isinstance(one, OpOverloadPacket) else ""
                message = f"Expected op in `op_list` to be an OpOverload but got: {one} of type {type(one)}. {more}"
                raise fail("value", message, ValueError)
        policy = lambda _, operation, *args, **kwargs: operation in policy_fn_or_list  # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise fail("type", "policy_fn_or_list must be either a function or a list of ops.", TypeError)
    storage: Storage = {}
    return _Caching(policy, storage), _Cached(storage, allow_cache_entry_mutation)
