"""Parses, runs and emits: the session, its control, what bounds its time."""
