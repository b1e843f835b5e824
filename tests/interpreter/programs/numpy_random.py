"""numpy's own random numbers, in both kinds of generator, and what prepares data."""

import numpy as np

rng = np.random.default_rng(42)
print(rng.standard_normal(3), rng.integers(0, 10, size=4), rng.choice(5, size=3, replace=False), rng.permutation(4))
old = np.random.RandomState(7)
print(old.randn(2), old.rand(1, 2), old.choice(["a", "b"], 3))
np.random.seed(3)
print(np.random.normal(0, 1, 2), np.random.randint(0, 9, 3))
rows = np.arange(12).reshape(3, 4)
old.shuffle(rows)
print(rows.shape, np.array_split(np.arange(5), 2), np.linalg.norm(np.ones(4)), np.finfo(np.float32).eps)
print(np.percentile([1, 2, 3, 4], [25, 50]), np.column_stack([[1, 2], [3, 4]]).tolist(), np.isin([1, 2], [2]).tolist())
print(isinstance(np.float32(1), np.floating), np.bincount([0, 1, 1]).tolist(), np.clip([-1, 5], 0, 1).tolist())
