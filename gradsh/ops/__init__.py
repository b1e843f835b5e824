"""One file a family of operations, each operation a record. Importing this package registers them all."""

from gradsh.ops import (
    activation as activation,
)
from gradsh.ops import (
    activation_smooth as activation_smooth,
)
from gradsh.ops import (
    arithmetic as arithmetic,
)
from gradsh.ops import (
    clamp as clamp,
)
from gradsh.ops import (
    class_loss as class_loss,
)
from gradsh.ops import (
    compare as compare,
)
from gradsh.ops import (
    conv as conv,
)
from gradsh.ops import (
    copy as copy,
)
from gradsh.ops import (
    create as create,
)
from gradsh.ops import (
    einsum as einsum,
)
from gradsh.ops import (
    embedding as embedding,
)
from gradsh.ops import (
    extrema as extrema,
)
from gradsh.ops import (
    index as index,
)
from gradsh.ops import (
    join as join,
)
from gradsh.ops import (
    loss as loss,
)
from gradsh.ops import (
    matmul as matmul,
)
from gradsh.ops import (
    norm as norm,
)
from gradsh.ops import (
    norms as norms,
)
from gradsh.ops import (
    pad as pad,
)
from gradsh.ops import (
    pairs as pairs,
)
from gradsh.ops import (
    pointwise as pointwise,
)
from gradsh.ops import (
    pool as pool,
)
from gradsh.ops import (
    power as power,
)
from gradsh.ops import (
    products as products,
)
from gradsh.ops import (
    random as random,
)
from gradsh.ops import (
    reduce as reduce,
)
from gradsh.ops import (
    resize as resize,
)
from gradsh.ops import (
    rrelu as rrelu,
)
from gradsh.ops import (
    scan as scan,
)
from gradsh.ops import (
    scatter as scatter,
)
from gradsh.ops import (
    select as select,
)
from gradsh.ops import (
    shape as shape,
)
from gradsh.ops import (
    softmax as softmax,
)
from gradsh.ops import (
    sort as sort,
)
from gradsh.ops import (
    special as special,
)
from gradsh.ops import (
    statistics as statistics,
)
from gradsh.ops import (
    unique as unique,
)
from gradsh.ops import (
    view as view,
)
