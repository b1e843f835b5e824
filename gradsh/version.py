"""The version, a constant: reading it from the installed metadata costs 20 ms at start-up."""

__version__ = "0.2.0"
PYTORCH_VERSION = "2.13.0"  # the release whose behaviour is reproduced
