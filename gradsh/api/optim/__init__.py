"""torch.optim: one file an optimizer, and the learning rate schedulers."""
