"""Tensors, nodes, the backward pass, views, random numbers, PyTorch's repr; knows no language."""
