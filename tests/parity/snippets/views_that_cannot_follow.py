# What PyTorch says of views whose memory was written, and when: before anything is computed, and of saved ones in their own words.
import torch


def told(call):
    try:
        print(call())
    except RuntimeError as error:
        print(error)


def views():
    x = torch.arange(6.0).view(3, 2).clone().requires_grad_()
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            view = x.view(-1)
        top, product = view.max(), view * view
        with torch.no_grad():
            view.squeeze_()
        told(lambda: top.grad_fn._saved_self)
        told(lambda: product.grad_fn._saved_other)
        told(lambda: product.sum().backward())

    y = x * 1
    rows = y.unbind(0)
    saved = rows[0].exp() * rows[0]
    with torch.no_grad():
        y.mul_(2)
    told(lambda: saved.grad_fn._saved_other)
    told(lambda: torch.mm(y, rows[0]))
    told(lambda: torch.cat([y, rows[0][None, None]]))
    target = torch.zeros(2, requires_grad=True) * 1
    told(lambda: target.copy_(rows[0]))
    told(lambda: target.index_put_((torch.tensor([0]),), rows[1][:1]))
    print(target)


    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g


    base = x * 1
    custom = Same.apply(base)
    square, of_view = custom**2, custom.view(-1) ** 2
    with torch.no_grad():
        base.mul_(2)
    told(lambda: square.grad_fn._saved_self)
    told(lambda: of_view.sum().backward())

    plain = torch.zeros(3)
    part = plain.unbind(0)[0]
    plain += x.sum()
    part.requires_grad = False
    print(part.requires_grad)
    told(lambda: part.grad_fn)
    mask = torch.ones(3) > 0
    masked = x[:, 0] * mask
    mask.zero_()
    told(lambda: masked.grad_fn._saved_other)

    leaf = torch.ones(3)
    early = leaf.squeeze()
    leaf.requires_grad_()
    dot = leaf @ early
    leaf.detach_()
    print(dot.grad_fn._saved_tensor is early, early.requires_grad)

    grown = torch.tensor(2.0, requires_grad=True)
    grown.backward(torch.ones_like(grown))
    with torch.no_grad():
        grown.unsqueeze_(0)
    told(lambda: grown.abs().sum().backward())
    print(grown.grad)
    told(lambda: torch.zeros(2).copy_(torch.ones(3)))


views()
