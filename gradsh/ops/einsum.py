"""einsum: products of tensors summed over shared subscripts, as permutes, views and batched matrix products."""

from typing import Any

from gradsh.engine.dispatch.declare import composite
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.ops.matmul import bmm
from gradsh.text.fault import fail

ELLIPSIS = "..."
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _refuse(message: str) -> Exception:
    return fail("value", f"einsum(): {message}")


# --- subscripts -------------------------------------------------------------------------------------------------


def _labels(text: str, what: str) -> list[str]:
    """Return the subscripts of one operand: letters and at most one ellipsis."""
    found: list[str] = []
    place = 0
    while place < len(text):
        char = text[place]
        if char == " ":
            place += 1
        elif char == ".":
            if text[place : place + 3] != ELLIPSIS:
                raise _refuse(f"found '.' for {what} that is not part of any ellipsis")
            if ELLIPSIS in found:
                raise _refuse(f"found '.' for {what} for which an ellipsis was already found")
            found.append(ELLIPSIS)
            place += 3
        elif char in _LETTERS:
            found.append(char)
            place += 1
        else:
            raise _refuse(f"invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]")
    return found


class Contraction:
    """The order of dimensions that all operands are brought to: those of the output, then those summed over."""

    __slots__ = ("count", "ellipsis", "output", "places", "start")

    def __init__(self, inputs: list[list[str]], output: list[str] | None, operands: list[Tensor]) -> None:
        self.ellipsis = 0
        counts: dict[str, int] = {}
        for place, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
            self._count(place, labels, operand, counts)
        if output is None:
            output = [ELLIPSIS] + [label for label in _LETTERS if counts.get(label) == 1]
        self.places: dict[str, int] = {}
        self.start = -1
        index = 0
        for label in output:
            if label == ELLIPSIS:
                self.start, index = index, index + self.ellipsis
            elif label not in counts:
                raise _refuse(f"output subscript {label} does not appear in the equation for any input operand")
            elif label in self.places:
                raise _refuse(f"output subscript {label} appears more than once in the output")
            else:
                self.places[label] = index
                index += 1
        self.output = index
        if self.start < 0:
            self.start, index = index, index + self.ellipsis
        for label in _LETTERS:
            if label in counts and label not in self.places:
                self.places[label] = index
                index += 1
        self.count = index

    def _count(self, place: int, labels: list[str], operand: Tensor, counts: dict[str, int]) -> None:
        named = [label for label in labels if label != ELLIPSIS]
        for label in named:
            counts[label] = counts.get(label, 0) + 1
        spare = operand.ndim - len(named)
        if ELLIPSIS in labels and spare >= 0:
            self.ellipsis = max(self.ellipsis, spare)
        elif spare != 0:
            extra = " (excluding ellipsis)" if ELLIPSIS in labels else ""
            message = (
                f"the number of subscripts in the equation ({len(named)}) "
                + ("does not match the number of dimensions" if not extra else "is more than the number of dimensions")
                + f" ({operand.ndim}) for operand {place}"
                + (" and no ellipsis was given" if not extra else "")
            )
            raise _refuse(message)

    def arranged(self, labels: list[str], operand: Tensor, place: int) -> Tensor:
        """Return an operand with its dimensions in the common order, extent 1 where it lacks one."""
        order = [-1] * self.count
        seen: dict[str, int] = {}
        dim = 0
        for label in labels:
            if label == ELLIPSIS:
                spare = self._spare(labels, operand, dim)
                for step in range(self.ellipsis - spare, self.ellipsis):
                    order[self.start + step] = dim
                    dim += 1
            elif label in seen:
                first = seen[label]
                if operand.shape[first] != operand.shape[dim]:
                    message = (
                        f"subscript {label} is repeated for operand {place} but the sizes don't match, "
                        f"{operand.shape[dim]} != {operand.shape[first]}"
                    )
                    raise _refuse(message)
                operand = find("movedim")(find("diagonal")(operand, 0, first, dim), -1, first)
            else:
                seen[label] = dim
                order[self.places[label]] = dim
                dim += 1
        for index, found in enumerate(order):
            if found == -1:
                operand = find("unsqueeze")(operand, dim)
                order[index] = dim
                dim += 1
        return find("permute")(operand, tuple(order))

    def _spare(self, labels: list[str], operand: Tensor, dim: int) -> int:
        """How many dimensions the ellipsis stands for, `dim` of them having been placed and those behind named."""
        return int(operand.ndim - dim - (len(labels) - labels.index(ELLIPSIS) - 1))


# --- products ---------------------------------------------------------------------------------------------------


def sum_product(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    """Multiply two arranged operands and sum over dims, which stay with extent 1, by one batched matrix product."""
    if not summed:
        return left * right
    both, only_left, only_right = [], [], []
    sizes = {"both": 1, "left": 1, "right": 1, "summed": 1}
    for dim in range(left.ndim):
        x, y = left.shape[dim], right.shape[dim]
        if dim in summed:
            if x != 1 and y != 1:
                sizes["summed"] *= x
            elif x != 1:
                left = find("sum")(left, (dim,), True)
            elif y != 1:
                right = find("sum")(right, (dim,), True)
        elif x != 1 and y != 1:
            both.append(dim)
            sizes["both"] *= x
        elif x != 1:
            only_left.append(dim)
            sizes["left"] *= x
        else:
            only_right.append(dim)
            sizes["right"] *= y
    if only_left and only_right and only_right[-1] < only_left[0]:  # so that the result comes out in order
        left, right, only_left, only_right = right, left, only_right, only_left
        sizes["left"], sizes["right"] = sizes["right"], sizes["left"]
    shape = [left.shape[dim] for dim in both + only_left] + [1] * len(summed) + [right.shape[dim] for dim in only_right]
    order = both + only_left + summed + only_right
    permute, reshape = find("permute"), find("reshape")
    first = reshape(permute(left, tuple(order)), (sizes["both"], sizes["left"], sizes["summed"]))
    second = reshape(
        permute(right, tuple(both + summed + only_right + only_left)), (sizes["both"], sizes["summed"], sizes["right"])
    )
    result = find("view")(bmm(first, second), tuple(shape))
    back = [0] * len(order)
    for place, dim in enumerate(order):
        back[dim] = place
    return permute(result, tuple(back))


def _contract(operands: list[Tensor], plan: Contraction) -> Tensor:
    counts = [sum(operand.shape[dim] != 1 for operand in operands) for dim in range(plan.count)]
    result = operands[0]
    for other in operands[1:]:
        result = _contract_pair(result, other, plan, counts)
    if plan.count == plan.output:
        return result
    if len(operands) > 1:
        return find("view")(result, tuple(result.shape[: plan.output]))
    return find("sum")(result, tuple(range(plan.output, plan.count)))


def _contract_pair(left: Tensor, right: Tensor, plan: Contraction, counts: list[int]) -> Tensor:
    """Multiply two operands, summing over each dimension that no later operand has."""
    sum_left: list[int] = []
    sum_right: list[int] = []
    summed: list[int] = []
    for dim in range(plan.output, plan.count):
        x, y = left.shape[dim] != 1, right.shape[dim] != 1
        if x and y:
            counts[dim] -= 1
            if counts[dim] == 1:
                summed.append(dim)
                counts[dim] = 0
        elif counts[dim] == 1 and (x or y):
            (sum_left if x else sum_right).append(dim)
            counts[dim] = 0
    if sum_left:
        left = find("sum")(left, tuple(sum_left), True)
    if sum_right:
        right = find("sum")(right, tuple(sum_right), True)
    return sum_product(left, right, summed)


def _check_sizes(operands: list[Tensor], names: dict[int, str]) -> None:
    for dim in range(operands[0].ndim):
        size = 1
        for place, operand in enumerate(operands):
            extent = operand.shape[dim]
            if extent != 1 and size not in {1, extent}:
                message = (
                    f"einsum(): subscript {names.get(dim, ELLIPSIS)} has size {extent} for operand {place} which does not "
                    f"broadcast with previously seen size {size}"
                )
                raise fail("shape", message, place=place)
            if extent != 1:
                size = extent


def _from_lists(args: tuple[object, ...]) -> tuple[str, list[object]]:
    """Translate einsum(op1, [0, 1], op2, [1, 2], [0, 2]) to an equation."""

    def word(subscripts: Any) -> str:
        return "".join(ELLIPSIS if one is Ellipsis else _letter(one) for one in subscripts)

    equation = ",".join(word(one) for one in args[1::2] if one is not None)
    operands = list(args[0::2])
    if len(args) % 2 == 1:
        equation = ",".join(word(one) for one in args[1:-1:2]) + "->" + word(args[-1])
        operands = operands[:-1]
    return equation, operands


def _letter(number: object) -> str:
    if not isinstance(number, int) or not 0 <= number < len(_LETTERS):
        raise fail("value", "einsum(): subscript in subscript list is not within the valid range [0, 52)", ValueError)
    return _LETTERS[number]


def _einsum(first: str, rest: tuple[Tensor, ...]) -> Tensor:
    if not rest:
        message = (
            "einsum(): must specify the equation string and at least one operand, "
            "or at least one operand and its subscripts list"
        )
        raise fail("value", message, ValueError)
    if isinstance(first, Tensor):
        rest = (rest,) if rest and not isinstance(rest[0], (list, tuple, Tensor)) else rest
        equation, operands = _from_lists((first, *rest))
    else:
        equation, operands = first, list(rest)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    for place, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            message = f"expected Tensor as element {place} in argument 1, but got {type(operand).__name__}"
            raise fail("type", message, TypeError)
    left, arrow, right = equation.partition("->")
    words = left.split(",")
    if len(words) != len(operands):
        few = "fewer" if len(operands) < len(words) else "more"
        raise _refuse(f"{few} operands were provided than specified in the equation")
    inputs = [_labels(word, f"operand {place}") for place, word in enumerate(words)]
    plan = Contraction(inputs, _labels(right, "the output") if arrow else None, operands)
    arranged = [
        plan.arranged(labels, operand, place)
        for place, (labels, operand) in enumerate(zip(inputs, operands, strict=True))
    ]
    _check_sizes(arranged, {place: label for label, place in plan.places.items()})
    return _contract(arranged, plan)


composite(
    "einsum(equation: str, *operands: any)", "Products summed over shared subscripts: einsum('ij,jk->ik', a, b).", _einsum,
    ("torch",),
    note="Has no node of its own: permuted views, Bmm or products, sums.",
)
composite("einsum(operand, *sublists: any)", "Products summed over shared subscripts, given as lists of numbers.", _einsum, ("torch",),
    note="Has no node of its own: permuted views, Bmm or products, sums.")
