import torch, torch.nn as nn
from functorch import combine_state_for_ensemble, grad, jacrev, make_functional, make_functional_with_buffers, vmap


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x, y = torch.randn(5, 3), torch.randn(5, 2)
    fnet, params = make_functional(net)
    print([(p.shape, p.requires_grad, type(p)) for p in params], torch.equal(fnet(params, x), net(x)))

    def loss(params, x, y):
        return ((fnet(params, x) - y) ** 2).mean()

    print(grad(loss)(params, x, y))
    print([g.shape for g in vmap(grad(loss), (None, 0, 0))(params, x, y)])
    print([j.shape for j in jacrev(fnet)(params, x)])
    opt = torch.optim.SGD(params, 0.1)
    loss(params, x, y).backward()
    opt.step()
    print(loss(params, x, y), loss(tuple(net.parameters()), x, y))

    normed = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).eval()
    fnet, params, buffers = make_functional_with_buffers(normed, disable_autograd_tracking=True)
    print([p.requires_grad for p in params], buffers, fnet(params, buffers, x))
    try:
        make_functional(normed)
    except RuntimeError as error:
        print(error)

    nets = [nn.Linear(3, 1) for _ in range(3)]
    fnet, params, buffers = combine_state_for_ensemble(nets)
    print([p.shape for p in params], [p.requires_grad for p in params], buffers)
    print(vmap(fnet, (0, 0, None))(params, buffers, x))


main()
