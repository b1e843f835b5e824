"""How a statement's value is shown in plain Python: by `print` where it is sure to be shown as it stands, else by a helper."""

from collections.abc import Sequence

from gradsh.api.torch import NAMESPACES
from gradsh.compiler.scopes import bound_names, statements_of
from gradsh.engine.graph.tensor import Tensor
from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.run.export_names import PythonNames

SILENT = frozenset({
    "add_module", "append", "backward", "clear", "extend", "insert", "manual_seed", "print",
    "register_forward_hook", "register_full_backward_hook", "register_hook", "register_post_accumulate_grad_hook", "remove",
    "retain_grad", "reverse", "seed", "set_detect_anomaly", "set_grad_enabled", "setattr", "sort", "step", "update", "zero_grad",
})
"""Functions and methods whose value is None, or one that a prompt does not show."""
_PLAIN = frozenset({"T", "data", "device", "dtype", "is_leaf", "ndim", "requires_grad", "shape"})
_SURE = (tree.Compare, tree.UnaryOp, tree.List, tree.Set, tree.Dict, tree.ListComp, tree.SetComp, tree.DictComp)


class Values:
    """Tells how the values of a program's top-level statements are shown.

    `helper` is the name of the function that shows some, `read_again` whether the program reads the last values.
    """

    def __init__(self, body: Sequence[stmt], names: PythonNames) -> None:
        self.names = names
        self.helper = ""
        self.read_again = names.reads_last_values()
        self.own = {one.name for one in statements_of(list(body)) if isinstance(one, tree.FunctionDef | tree.ClassDef)}
        self.assigned: dict[str, list[expr | None]] = {}
        for one in body:
            values: dict[str, expr] = {}
            if isinstance(one, tree.Assign):
                values = {target.id: one.value for target in one.targets if isinstance(target, tree.Name)}
            for name, _ in bound_names([one]):
                self.assigned.setdefault(name, []).append(values.get(name))

    def around(self, value: expr) -> tuple[str, str] | None:
        """Return what stands before and after an expression statement to show its value; None where nothing is shown."""
        if isinstance(value, tree.Constant) and (value.value is None or isinstance(value.value, str)):
            return None
        if isinstance(value, tree.Call) and self._called(value) in SILENT - self.own:
            return None
        if isinstance(value, tree.Tuple) and not self.read_again:
            return "print((", "))"
        if self._is_sure(value) and not self.read_again:
            return "print(", ")"
        self.helper = "show" if "show" not in self.names.everywhere else "show_value"
        return (f"{self.helper}((", "))") if isinstance(value, tree.Tuple) else (f"{self.helper}(", ")")

    @staticmethod
    def _called(value: tree.Call) -> str:
        return value.func.attr if isinstance(value.func, tree.Attribute) else getattr(value.func, "id", "")

    def _is_sure(self, value: expr | None, depth: int = 0) -> bool:
        """Whether `print` shows a value as a prompt does: it is no text, and never None."""
        if value is None or depth > 20:
            return False
        if isinstance(value, tree.Constant):
            return isinstance(value.value, int | float | complex)
        if isinstance(value, tree.BinOp):
            return self._is_sure(value.left, depth + 1) or self._is_sure(value.right, depth + 1)
        if isinstance(value, tree.Name):
            return all(self._is_sure(one, depth + 1) for one in self.assigned.get(value.id, [None]))
        if isinstance(value, tree.Attribute):
            return value.attr in _PLAIN and self._is_sure(value.value, depth + 1)
        if isinstance(value, tree.Subscript):
            return self._is_sure(value.value, depth + 1)
        if isinstance(value, tree.Call):
            return self._gives_tensors(value, depth)
        return isinstance(value, _SURE)

    def _gives_tensors(self, value: tree.Call, depth: int) -> bool:
        name = self._called(value)
        if name in SILENT or name in self.own or name in self.names.everywhere:
            return False
        if isinstance(value.func, tree.Name):
            return bool(self.names.stands_for(name)) and name[0].islower()
        owner = value.func.value if isinstance(value.func, tree.Attribute) else None
        if isinstance(owner, tree.Name) and owner.id in {"torch", "F"}:
            return name in NAMESPACES["torch" if owner.id == "torch" else "torch.nn.functional"]
        return hasattr(Tensor, name) and self._is_sure(owner, depth + 1)
