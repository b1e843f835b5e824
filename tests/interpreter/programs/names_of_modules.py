import logging
import os

import numpy as np

print(logging.WARN, logging.FATAL, os.fspath("a/b"), __package__, __name__, __doc__)
for find in (lambda: np.int(3), lambda: np.float, lambda: np.Inf, lambda: np.product, lambda: np.no_such_name, lambda: os.nothing):
    try:
        find()
    except AttributeError as error:
        print(error)
