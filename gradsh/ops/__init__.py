"""One file a family of operations, each operation a record. Importing this package registers them all."""

from gradsh.ops import (
    arithmetic as arithmetic,
)
from gradsh.ops import (
    class_loss as class_loss,
)
from gradsh.ops import (
    conv as conv,
)
from gradsh.ops import (
    loss as loss,
)
from gradsh.ops import (
    reduce as reduce,
)
from gradsh.ops import (
    extrema as extrema,
)
from gradsh.ops import (
    softmax as softmax,
)
from gradsh.ops import (
    matmul as matmul,
)
