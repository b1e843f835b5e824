"""One file a family of operations, each a record."""
