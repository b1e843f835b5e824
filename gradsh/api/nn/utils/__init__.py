"""torch.nn.utils: gradient clipping, parameters as one vector, reparametrisations, padding of sequences."""
