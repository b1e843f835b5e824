"""Declaring an operation, calling it, and giving birth to its node."""
