"""torch.nn: modules, one file a family, under the file names that PyTorch's classes give as their origin."""
