"""How arrays print: options for the program, and for a block."""

import numpy as np

a = np.array([1.23456, 1e-7, 12345.678])
print(a)
np.set_printoptions(precision=2, suppress=True)
print(a, [a], {"x": a}, f"{a}", str(a), repr(a))


def inside():
    with np.printoptions(precision=1) as options:
        print(a, options["precision"])
    print(a)


inside()
np.set_printoptions(formatter={"float": lambda x: "%.1f" % x})
print(a, np.get_printoptions()["precision"])
np.set_printoptions(formatter=None, threshold=5, edgeitems=1)
print(np.arange(100), np.array2string(a, precision=4))
try:
    np.set_printoptions(no_such_option=1)
except TypeError as error:
    print(error)
