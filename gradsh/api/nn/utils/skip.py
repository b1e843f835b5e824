"""torch.nn.utils.skip_init: modules whose parameters are yet to be filled."""

from collections.abc import Callable

from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current
from gradsh.text.fault import fail


def skip_init(module_cls: Callable[..., object], *args: object, **kwargs: object) -> Module:
    """Make a module without drawing random numbers: what its parameters hold is not to be relied on."""
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise fail("type", f"Expected a Module; got {module_cls}")
    generator = current().generator
    before = generator.get_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        generator.set_state(before)
