"""One file a family of operations, each operation a record. Importing this package registers them all."""

from gradsh.ops import (
    arithmetic as arithmetic,
    class_loss as class_loss,
    conv as conv,
    copy as copy,
    create as create,
    extrema as extrema,
    index as index,
    join as join,
    loss as loss,
    matmul as matmul,
    reduce as reduce,
    shape as shape,
    softmax as softmax,
    view as view,
)
