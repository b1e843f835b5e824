"""From an exception to its story: the kind, the cause, the lines behind it, and the fixes."""
