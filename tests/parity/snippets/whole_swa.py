import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
X = torch.randn(64, 4); Y = X.pow(2).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, avg_fn=lambda avg, new, n: 0.9 * avg + 0.1 * new)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
swa_start = 4
swa_scheduler = SWALR(optimizer, swa_lr=0.005, anneal_epochs=2)
for epoch in range(8):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        ema_model.update_parameters(model)
    if epoch > swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(epoch, f"{loss.item():.4f}", round(optimizer.param_groups[0]["lr"], 6), swa_model.n_averaged.item())
update_bn(loader, swa_model)
with torch.no_grad():
    swa_model.eval(); model.eval(); ema_model.eval()
    for m in (model, swa_model, ema_model):
        print(f"{nn.functional.mse_loss(m(X), Y):.4f}")
print(list(swa_model.state_dict())[:3])
