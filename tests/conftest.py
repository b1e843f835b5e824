"""What holds for all tests.

Fast paths of operations are written at their first use here, so that every test takes them. Scripts, situations and whatever else
runs in a process of its own take the general way first, as programs do. Random cases are a quarter of those of a sweep, and the
same ones in each run.
"""

from hypothesis import settings

from gradsh.engine.schema import overload
from tests.processes import default_signals
from tests.sweep import SWEEP, draws

overload.SPECIALIZE_AFTER = 0
default_signals()
settings.register_profile("quarter", max_examples=draws(100), derandomize=True)
if not SWEEP:
    settings.load_profile("quarter")
