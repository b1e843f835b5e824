"""The few shapes that output has."""
