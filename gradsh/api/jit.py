"""`torch.jit`: functions and modules are returned as they are, and run as Python at each call. Nothing is compiled."""

from typing import Any

from gradsh.api.nn.module import Module
from gradsh.api.stand_ins import load, save
from gradsh.engine.ambient import grad_mode, standing_in, tell

_AS_IT_IS = "it returns the function or module unchanged"


class ScriptModule(Module):
    """What scripting makes of a module: one of its class over the same parameters, which can be saved as a whole."""

    def save(self, f: object, **_: object) -> None:
        """Keep a copy under a file's name, as `torch.save` does."""
        save(self, f)


def _saved_whole(obj: object) -> Any:
    """Return a module that shares all it has with `obj` and is a ScriptModule; anything else as it is."""
    if not isinstance(obj, Module) or isinstance(obj, ScriptModule):
        return obj
    found: Any = object.__new__(type(type(obj).__name__, (type(obj), ScriptModule), {"__module__": type(obj).__module__}))
    found.__dict__ = obj.__dict__
    return found


@standing_in("torch.jit.script", _AS_IT_IS)
def script(obj: object = None, *_: object, **__: object) -> Any:
    """Return a function or class itself; a module as a ScriptModule."""
    tell(script)
    return script if obj is None else _saved_whole(obj)


@standing_in("torch.jit.trace", _AS_IT_IS + ", after running it on the example as often as PyTorch does")
def trace(
    func: Any, example_inputs: Any = None, optimize: object = None, check_trace: bool = True, *_: object,
    example_kwarg_inputs: dict[str, Any] | None = None, **__: object,
) -> Any:
    """Return a function itself, a module as a ScriptModule. It runs on the example, and twice more without gradients to check that."""
    del optimize
    tell(trace)
    given = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else () if example_inputs is None else (example_inputs,)
    func(*given, **(example_kwarg_inputs or {}))
    with grad_mode(False):
        for _again in range(2 * check_trace):
            func(*given, **(example_kwarg_inputs or {}))
    return _saved_whole(func)


def itself(fn: object = None, *_: object, **__: object) -> Any:
    """Return the function or module; called with settings alone, what does so (`torch.jit.ignore(drop=True)`)."""
    return fn if callable(fn) else itself


def annotate(the_type: object, the_value: object) -> Any:
    """Return the value."""
    del the_type
    return the_value


def is_scripting() -> bool:
    """Return False: the code runs as Python."""
    return False


def save_module(m: Module, f: object, **_: object) -> None:
    """Keep a copy of a module under a file's name."""
    save(m, f)


def load_module(f: object, map_location: object = None, **_: object) -> object:
    """Return a copy of the module that was saved under a file's name."""
    return load(f, map_location, weights_only=False)


def set_fusion_strategy(strategy: object) -> None:
    """Do nothing."""
