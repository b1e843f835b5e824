# ruff: noqa: PT009, PT027  (these are assertions of unittest)
"""What PyTorch's test files take from `torch.testing._internal`, written anew over whichever library is tested."""

import contextlib
import functools
import gc
import itertools
import re
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

TOLERANCE = {"float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
"""(relative, absolute) by dtype."""


class Subtest:
    """One value of a parametrized test."""

    def __init__(self, value: Any, name: str = "", decorators: Sequence[Any] = ()) -> None:
        self.value, self.name, self.decorators = value, name, decorators


class Missing:
    """A name that the library does not have: only its use fails."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise AttributeError(f"not offered: {self.name}")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"not offered: {self.name}")


def parametrize(names: str, values: Sequence[Any], **_: Any) -> Callable[[Any], Any]:
    """Note the values that a test is called with."""
    keys = [name.strip() for name in names.split(",")]

    def note(test: Any) -> Any:
        rows = []
        for value in values:
            whole = value if isinstance(value, Subtest) else Subtest(value)
            held = whole.value if len(keys) > 1 else (whole.value,)
            rows.append((dict(zip(keys, held, strict=True)), whole.decorators, whole.name or str(getattr(value, "__name__", value))))
        test.parameters = [*getattr(test, "parameters", []), rows]
        return test

    return note


def dtypes(*given: Any) -> Callable[[Any], Any]:
    """Note the dtypes that a test is called with."""
    return parametrize("dtype", [one for one in given if not isinstance(one, Missing)])


def calls(test: Any) -> Iterator[tuple[str, dict[str, Any], Sequence[Any]]]:
    """Return the title and the arguments of each call of a test, with what decorates that call."""
    for rows in itertools.product(*getattr(test, "parameters", [])):
        title = "".join(f"-{name}" for _, _, name in rows)
        yield title, {key: value for row, _, _ in rows for key, value in row.items()}, [one for _, more, _ in rows for one in more]


def plain(*given: Any, **_: Any) -> Any:
    """Decorate with nothing, with and without arguments."""
    return given[0] if given and callable(given[0]) else lambda test: test


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """Collect nothing meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def case_of(torch: Any) -> type[unittest.TestCase]:
    """Return the class that PyTorch's test cases inherit from."""

    class Case(unittest.TestCase):
        """Compares tensors as PyTorch's tests do."""

        def run(self, result: Any = None) -> Any:
            torch.manual_seed(0)
            return super().run(result)

        def assertEqual(self, x: Any, y: Any, msg: Any = None, *, atol: Any = None, rtol: Any = None, exact_dtype: bool = True,
                        **_: Any) -> None:
            told = msg if isinstance(msg, str) else None
            if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
                self._same_tensors(x, y, atol, rtol, exact_dtype, told)
            elif isinstance(x, Mapping) and isinstance(y, Mapping):
                super().assertEqual(list(x), list(y), told)
                for key in x:
                    self.assertEqual(x[key], y[key], atol=atol, rtol=rtol)
            elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
                super().assertEqual(len(x), len(y), told)
                for one, other in zip(x, y, strict=True):
                    self.assertEqual(one, other, atol=atol, rtol=rtol, exact_dtype=exact_dtype)
            elif isinstance(x, float) and isinstance(y, (int, float)) and x != y:
                self._same_tensors(torch.tensor(x), torch.tensor(float(y)), atol, rtol, exact_dtype, told)
            else:
                super().assertEqual(x, y, told)

        def _same_tensors(self, x: Any, y: Any, atol: Any, rtol: Any, exact: bool, told: Any) -> None:
            x, y = (one if isinstance(one, torch.Tensor) else torch.as_tensor(one) for one in (x, y))
            number = not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)) or x.dim() == 0 or y.dim() == 0
            if not (number and x.numel() == y.numel() == 1):
                super().assertEqual(tuple(x.shape), tuple(y.shape), told)
                if exact:
                    super().assertEqual(x.dtype, y.dtype, told)
            x, y = x.detach(), y.detach()
            name = "float32" if "torch.float32" in {str(x.dtype), str(y.dtype)} else "float64"
            relative, absolute = TOLERANCE[name]
            near = torch.allclose(
                x.double().reshape(-1), y.double().reshape(-1), rtol=relative if rtol is None else rtol,
                atol=absolute if atol is None else atol, equal_nan=True,
            )
            self.assertTrue(near, told or f"{x} is not {y}")

        def assertNotEqual(self, x: Any, y: Any, msg: Any = None, **more: Any) -> None:
            with self.assertRaises(AssertionError, msg=msg):
                self.assertEqual(x, y, **more)

        def assertExpectedInline(self, actual: str, expected: str, **_: Any) -> None:
            self.assertMultiLineEqual(expected, actual)

        def assertNotWarn(self, ask: Callable[[], Any], msg: str = "") -> None:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                ask()
            self.assertTrue(not told, msg)

        @contextlib.contextmanager
        def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                yield
            self.assertEqual(len([one for one in told if re.search(regex, str(one.message))]), 1)

    return Case


def internals(torch: Any) -> dict[str, Any]:
    """Return the names of `torch.testing._internal` that the tests import."""

    def checked(name: str, *given: Any, **options: Any) -> Any:
        options.pop("check_batched_grad", None)  # by vmap
        options.setdefault("fast_mode", True)
        return getattr(torch.autograd, name)(*given, **options)

    def warn_always(*_: Any) -> Any:
        return contextlib.nullcontext()

    def some(shape: Sequence[int]) -> Any:
        mask = torch.randn(shape).gt(0)
        return mask if mask.any() else some(shape)

    skip = unittest.skip("needs another device")
    identity = ("skipIfMPS skipIfTorchDynamo skipMeta skipIfWindows skipIfNoLapack slowTest xfailIfS390X xfailIfTorchDynamo onlyCPU "
                "skipIfCrossRef skipIfWindowsXPU skipIfXpu expectedFailureMPS serialTest")
    return {
        **dict.fromkeys(identity.split(), plain),
        "TestCase": case_of(torch), "gradcheck": functools.partial(checked, "gradcheck"),
        "gradgradcheck": functools.partial(checked, "gradgradcheck"), "parametrize": parametrize, "subtest": Subtest, "dtypes": dtypes,
        "dtypesIfCUDA": lambda *_: plain, "dtypesIfMPS": lambda *_: plain, "onlyCUDA": skip, "deviceCountAtLeast": lambda _: skip,
        "instantiate_device_type_tests": plain, "instantiate_parametrized_tests": plain, "run_tests": plain, "disable_gc": disable_gc,
        "set_warn_always_context": warn_always, "IS_MACOS": False, "IS_WINDOWS": False, "TEST_CUDA": False,
        "mask_not_all_zeros": some, "floating_types_and": lambda *_: (torch.float32, torch.float64),
    }
