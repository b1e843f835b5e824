import torch
import torch.nn.functional as F
torch.manual_seed(0)
w = torch.randn(1, 3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
def model(x, w, b):
    return F.linear(x, w, b)
meta_opt = torch.optim.Adam([w, b], lr=1e-2)
for it in range(2):
    meta_loss = 0.
    for task in range(2):
        xs, ys = torch.randn(5, 3), torch.randn(5, 1)
        xq, yq = torch.randn(5, 3), torch.randn(5, 1)
        loss = F.mse_loss(model(xs, w, b), ys)
        gw, gb = torch.autograd.grad(loss, (w, b), create_graph=True)
        w_, b_ = w - 0.1 * gw, b - 0.1 * gb
        meta_loss = meta_loss + F.mse_loss(model(xq, w_, b_), yq)
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    print(f"iter {it}: {meta_loss.item():.4f} {w.grad}")
