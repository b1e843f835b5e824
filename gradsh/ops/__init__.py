"""One file a family of operations, each operation a record. Importing this package registers them all."""

from gradsh.ops import (
    arithmetic as arithmetic,
)
from gradsh.ops import (
    class_loss as class_loss,
)
from gradsh.ops import (
    loss as loss,
)
