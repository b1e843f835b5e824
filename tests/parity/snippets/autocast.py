import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
x, y = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
def names(node, found):
    if node is not None:
        found.append(node.name())
        for below, _ in node.next_functions:
            names(below, found)
    return found
states, graphs, kinds = [], [], []
for dtype in (torch.bfloat16, torch.float16):
    with torch.autocast("cpu", dtype=dtype):
        out = net(x)
        loss = F.cross_entropy(out, y)
        states.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()))
        kinds += [one.dtype for one in (out, loss, x @ x.t(), out + x[:, :3], torch.cat([out, x], 1), out.softmax(-1), torch.einsum("ij,kj->ik", x, x),
            F.mse_loss(out, x[:, :3].bfloat16()), (x.double() @ x.double().t()), nn.Conv1d(4, 2, 1)(x[:, :, None]), out.prod(), F.kl_div(out, out, reduction="sum"), x.mv(x[0]))]
        with torch.autocast("cpu", enabled=False):
            kinds.append((x @ x.t()).dtype)
        for layer in (nn.RNN(4, 2), nn.GRU(4, 2), *[nn.LSTM(4, 2)] * (dtype is torch.bfloat16), nn.MultiheadAttention(4, 2)):
            kinds.append(layer(x[None], x[None], x[None])[0].dtype if isinstance(layer, nn.MultiheadAttention) else layer(x[None])[0].dtype)
    loss.backward()
    graphs.append(names(loss.grad_fn, []))
    kinds.append(net[0].weight.grad.dtype)
states.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
with torch.autocast("cpu"):
    shared = (F.linear(x, net[0].weight).grad_fn.next_functions, (x @ net[0].weight.t()).grad_fn.next_functions)
    one = F.linear(x, net[0].weight).grad_fn.next_functions[1][0].next_functions[0][0]
    two = F.linear(x, net[0].weight).grad_fn.next_functions[1][0].next_functions[0][0]
cached = one is two

class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a):
        kinds.append((a.dtype, torch.is_autocast_enabled("cpu")))
        return a @ a.t()
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        kinds.append((grad.dtype, torch.is_autocast_enabled("cpu")))
        return grad @ torch.ones(6, 4)

with torch.autocast("cpu"):
    Doubled.apply((x @ torch.eye(4)).requires_grad_()).sum().backward()

@torch.autocast("cpu")
def product(a):
    return a @ a.t()
kinds.append(product(x).dtype)
p = nn.Parameter(torch.tensor([1.0, 2.0]))
opt, scaler = torch.optim.SGD([p], lr=0.125), torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
scales = []
for factor in (1.0, float("inf"), 1.0, 1.0, 2.0):
    opt.zero_grad()
    scaled = scaler.scale((p * factor).sum())
    scaled.backward()
    scaler.step(opt)
    scaler.update()
    scales.append((scaler.get_scale(), p.tolist(), p.grad.tolist(), p.grad._version))
saved = scaler.state_dict()
opt.zero_grad()
scaler.scale([p.sum(), p.prod()])[1].backward()
scaler.unscale_(opt)
words = []
for wrong in (lambda: scaler.unscale_(opt), lambda: torch.amp.GradScaler("cpu").step(opt), lambda: torch.autocast(torch.device("cpu")), lambda: scaler.scale(3)):
    try:
        wrong()
    except Exception as error:
        words.append((type(error).__name__, str(error)))
del shared, one, two, net, loss  # the weights of LayerNorm get gradients that are summed in another order
