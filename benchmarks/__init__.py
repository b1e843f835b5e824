"""Workloads with gradsh, PyTorch, HIPS autograd and hand-written numpy side by side; `make bench` prints the table."""
