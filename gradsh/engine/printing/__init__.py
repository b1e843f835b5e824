"""PyTorch's repr of tensors."""
