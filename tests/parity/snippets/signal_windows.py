import torch
windows = torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window
for window in windows:
    for length in (0, 1, 2, 5, 8, 401):
        for periodic in (True, False):
            print(window(length, periodic=periodic).tolist())
    print(window(5, dtype=torch.float64).tolist())
    print(window(5, False, requires_grad=True), window(window_length=4), window(torch.tensor(4)))
print(torch.hamming_window(5, True, 0.6, 0.4), torch.hamming_window(5, True, 0.6), torch.hamming_window(5, periodic=False, alpha=0.6))
print(torch.kaiser_window(5, False, 8.0), torch.kaiser_window(5, periodic=True, beta=3.0), torch.kaiser_window(5, True, 3))
torch.hann_window(-1)
torch.hann_window(5, dtype=torch.int64)
torch.kaiser_window("a")
torch.blackman_window(5.5)
torch.bartlett_window(True)
torch.hamming_window()
torch.hamming_window(5, alpha=0.6)
torch.hamming_window(5, False, beta=0.6)
torch.kaiser_window(5, beta=3.0)
torch.hann_window(4, True, 0.5)
torch.hann_window(4, out=torch.empty(4))
