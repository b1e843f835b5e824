import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class VectorQuantizerEMA(nn.Module):
    def __init__(self, n, d, commitment=.25, decay=.9, eps=1e-5):
        super().__init__()
        self._n, self._d, self._c, self._decay, self._eps = n, d, commitment, decay, eps
        self._embedding = nn.Embedding(n, d); self._embedding.weight.data.normal_()
        self.register_buffer('_ema_cluster_size', torch.zeros(n))
        self._ema_w = nn.Parameter(torch.Tensor(n, d)); self._ema_w.data.normal_()
    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous(); shape = inputs.shape
        flat = inputs.view(-1, self._d)
        dist = (torch.sum(flat**2, dim=1, keepdim=True) + torch.sum(self._embedding.weight**2, dim=1) - 2 * torch.matmul(flat, self._embedding.weight.t()))
        idx = torch.argmin(dist, dim=1).unsqueeze(1)
        enc = torch.zeros(idx.shape[0], self._n, device=inputs.device); enc.scatter_(1, idx, 1)
        q = torch.matmul(enc, self._embedding.weight).view(shape)
        if self.training:
            self._ema_cluster_size = self._ema_cluster_size * self._decay + (1 - self._decay) * torch.sum(enc, 0)
            n = torch.sum(self._ema_cluster_size.data)
            self._ema_cluster_size = (self._ema_cluster_size + self._eps) / (n + self._n * self._eps) * n
            dw = torch.matmul(enc.t(), flat)
            self._ema_w = nn.Parameter(self._ema_w * self._decay + (1 - self._decay) * dw)
            self._embedding.weight = nn.Parameter(self._ema_w / self._ema_cluster_size.unsqueeze(1))
        loss = self._c * F.mse_loss(q.detach(), inputs)
        q = inputs + (q - inputs).detach()
        p = torch.mean(enc, dim=0)
        return loss, q.permute(0, 3, 1, 2).contiguous(), torch.exp(-torch.sum(p * torch.log(p + 1e-10))), enc
enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 3, 1, 1)); vq = VectorQuantizerEMA(16, 4); dec = nn.Sequential(nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 1, 1))
x = torch.rand(8, 1, 8, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3, amsgrad=False)
for i in range(5):
    opt.zero_grad(); l, q, perp, _ = vq(enc(x)); r = F.mse_loss(dec(q), x) / x.var(); (r + l).backward(); opt.step()
    print('%d recon %.4f vq %.4f perplexity %.3f' % (i, r.item(), l.item(), perp.item()))
