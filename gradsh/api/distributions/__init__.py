"""torch.distributions: the distributions that policies and variational models use. Nothing is imported here."""
