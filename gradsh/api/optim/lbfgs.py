"""L-BFGS: steps from the curvature that former steps showed, with an optional line search."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.api.optim.line_search import strong_wolfe
from gradsh.api.optim.optimizer import Optimizer, ParamGroup, ParamState, check, number
from gradsh.engine.ambient import grad_mode
from gradsh.engine.dispatch.saved_hooks import announce_write
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class LBFGS(Optimizer):
    """A quasi-Newton method; `step` needs a closure that computes the loss and its gradients anew."""

    def __init__(
        self, params: object, lr: float = 1, max_iter: int = 20, max_eval: int | None = None, tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn: str | None = None,
    ) -> None:
        check("learning rate", lr, lr >= 0)
        evaluations = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": evaluations, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        })
        if len(self.param_groups) != 1:
            raise fail("value", "LBFGS doesn't support per-parameter options (parameter groups)", ValueError)
        self._tensors: list[Tensor] = self.param_groups[0]["params"]

    def _gradient(self) -> Array:
        parts = []
        for one in self._tensors:
            held = one.meta.grad if one.meta is not None else None
            parts.append(np.zeros(one.array.size, one.array.dtype) if held is None else held.array.reshape(-1))
        return np.concatenate(parts)

    def _move(self, length: float, direction: Array) -> None:
        start = 0
        for one in self._tensors:
            size = one.array.size
            announce_write(one)
            one.array += direction[start : start + size].reshape(one.array.shape) * length
            written(one)
            start += size

    def _restore(self, values: list[Array]) -> None:
        for one, value in zip(self._tensors, values, strict=True):
            announce_write(one)
            one.array[...] = value
            written(one)

    def step(self, closure: Callable[[], object] | None = None) -> object:
        """Make up to max_iter iterations; return the loss of the first evaluation."""
        if closure is None:
            raise fail("type", "LBFGS.step() missing 1 required positional argument: 'closure'", TypeError)
        with grad_mode(False):
            return self._iterate(closure)

    def _iterate(self, closure: Callable[[], object]) -> Tensor:
        def evaluate() -> Any:
            with grad_mode(True):
                return closure()

        group = self.param_groups[0]
        state = self.state[self._tensors[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = evaluate()
        loss = float(first)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if np.abs(gradient).max() <= group["tolerance_grad"]:
            return first
        held = _Held(state)
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            direction = held.direction(state, gradient, group["history_size"])
            held.remember(gradient)
            before_loss, held.prev_loss = loss, loss
            held.t = number(group["lr"])
            if state["n_iter"] == 1:
                held.t = _first_length(gradient, held.t)
            length = float(number(held.t))
            slope = float(gradient @ direction)
            if slope > -group["tolerance_change"]:
                break
            spent = 0
            if group["line_search_fn"] is not None:
                loss, gradient, length, spent = self._search(evaluate, group, length, direction, loss, gradient, slope)
                self._move(length, direction)
                held.t = length
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:
                    spent = 1
                    loss = float(evaluate())
                    gradient = self._gradient()
            evaluations += spent
            state["func_evals"] += spent
            still = np.abs(direction * length).max() <= group["tolerance_change"]
            same = abs(loss - before_loss) < group["tolerance_change"]
            flat = np.abs(gradient).max() <= group["tolerance_grad"]
            if iteration == group["max_iter"] or evaluations >= group["max_eval"] or flat or still or same:
                break
        held.store(state)
        return first

    def _search(
        self, evaluate: Callable[[], Any], group: ParamGroup, length: float, direction: Array, loss: float,
        gradient: Array, slope: float,
    ) -> tuple[float, Array, float, int]:
        if group["line_search_fn"] != "strong_wolfe":
            raise fail("value", "only 'strong_wolfe' is supported")
        start = [one.array.copy() for one in self._tensors]

        def at(step: float) -> tuple[float, Array]:
            self._move(step, direction)
            value = float(evaluate())
            found = self._gradient()
            self._restore(start)
            return value, found

        return strong_wolfe(at, length, direction, loss, gradient, slope)


def _first_length(gradient: Array, rate: float) -> Tensor | float:
    """Return the length of the very first step: a tensor where the gradient decides, as in PyTorch."""
    share = 1.0 / np.abs(gradient).sum()
    return make(np.asarray(share * gradient.dtype.type(rate))) if share < 1.0 else rate


class _Held:
    """What L-BFGS knows of the steps so far, while it iterates; written to the optimizer's state at the end of a step."""

    def __init__(self, state: ParamState) -> None:
        for name in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"):
            setattr(self, name, state.get(name))

    d: Any
    t: Any
    old_dirs: Any
    old_stps: Any
    ro: Any
    H_diag: Any
    prev_flat_grad: Any
    prev_loss: object

    def direction(self, state: ParamState, gradient: Array, history_size: int) -> Array:
        """Return the next direction from the gradient and the history of steps (two-loop recursion)."""
        if state["n_iter"] == 1:
            self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
            self.d = make(-gradient)
            return self.d.array
        change = gradient - self.prev_flat_grad.array
        moved = self.d.array * gradient.dtype.type(number(self.t))
        curvature = change @ moved
        if curvature > 1e-10:
            if len(self.old_dirs) == history_size:
                for one in (self.old_dirs, self.old_stps, self.ro):
                    one.pop(0)
            self.old_dirs.append(make(change))
            self.old_stps.append(make(moved))
            self.ro.append(make(np.asarray(1.0 / curvature)))
            self.H_diag = make(np.asarray(curvature / (change @ change)))
        weights = state.setdefault("al", [None] * history_size)
        found: Array = -gradient
        count = len(self.old_dirs)
        for place in range(count - 1, -1, -1):
            weight = (self.old_stps[place].array @ found) * self.ro[place].array
            weights[place] = make(np.asarray(weight))
            found = found - self.old_dirs[place].array * weight
        found = found * gradient.dtype.type(number(self.H_diag))
        for place in range(count):
            share = (self.old_dirs[place].array @ found) * self.ro[place].array
            found = found + self.old_stps[place].array * (weights[place].array - share)
        self.d = make(found)
        written(self.d, count)
        return found

    def remember(self, gradient: Array) -> None:
        """Keep the gradient for the next step."""
        if self.prev_flat_grad is None:
            self.prev_flat_grad = make(gradient.copy())
        else:
            self.prev_flat_grad.array[...] = gradient
            written(self.prev_flat_grad)

    def store(self, state: ParamState) -> None:
        """Write all to the state."""
        for name in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss"):
            state[name] = getattr(self, name)
