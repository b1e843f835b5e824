"""Golden tests: scripts that carry their expected output, run and compared statement by statement."""
