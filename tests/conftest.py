"""Fast paths of operations are written at their first use here, so that every test goes them.

Scripts, situations and whatever else runs in a process of its own go the general way first, as programs do.
"""

from gradsh.engine.schema import overload
from tests.processes import default_signals

overload.SPECIALIZE_AFTER = 0
default_signals()
