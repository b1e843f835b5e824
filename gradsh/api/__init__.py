"""PyTorch's names over the engine."""
