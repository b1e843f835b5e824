"""Long fuzzing of what reads text, beside the tests: `python -m fuzz TARGET`. No part of `make test`."""
