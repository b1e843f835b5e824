import torch
print(torch.has_mps, torch.has_cuda, torch.has_cudnn, torch.has_mkldnn, hasattr(torch, "has_mps"), torch.has_lapack, torch.has_mkl, torch.has_openmp, torch.has_spectral)
print(torch.backends.mkldnn.is_available(), torch.backends.mkl.is_available(), torch.backends.openmp.is_available(), torch.backends.cudnn.is_available())
device = torch.device("cuda" if torch.has_cuda else "mps" if torch.has_mps else "cpu")
print(device)
torch.has_magma
