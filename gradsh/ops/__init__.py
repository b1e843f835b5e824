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
    norms as norms,
    pointwise as pointwise,
    power as power,
    random as random,
    reduce as reduce,
    select as select,
    shape as shape,
    softmax as softmax,
    statistics as statistics,
    view as view,
)
