"""One file a family of operations, each operation a record. Importing this package registers them all."""

from gradsh.ops import (
    arithmetic as arithmetic,
)
