import torch
base, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True) * 1
class Result(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        z = x * 2
        ctx.mark_dirty(z)
        return z
    @staticmethod
    def backward(ctx, g): return g
class Both(Result):
    @staticmethod
    def forward(ctx, x):
        z = x * 2
        x.mul_(2)
        ctx.mark_dirty(x, z)
        return x, z
class ViewOfInput(Result):
    @staticmethod
    def forward(ctx, x):
        z = x.view(-1)
        z.mul_(2)
        ctx.mark_dirty(z)
        return z
class InputAndView(Result):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        z = x.view(-1)
        ctx.mark_dirty(x, z)
        return x, z
class OtherView(Result):
    @staticmethod
    def forward(ctx, x):
        z = torch.ones(2, 2).view(-1)
        ctx.mark_dirty(z)
        return z
class OtherViewOfTwo(Result):
    @staticmethod
    def forward(ctx, x):
        z = torch.ones(2, 2).view(-1)
        ctx.mark_dirty(z)
        return z, x + 1
class Leaf(Result):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(base)
        return base
class Other(Result):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(other)
        return other
for function in (Result, Both, ViewOfInput, InputAndView, OtherView, OtherViewOfTwo, Leaf, Other):
    try:
        print(function.__name__, function.apply(torch.ones(2, requires_grad=True) * 1))
    except RuntimeError as e:
        print(function.__name__, e)
for function in (Result, Both, OtherView, OtherViewOfTwo, Leaf, Other):
    with torch.no_grad():
        print(function.__name__, function.apply(torch.ones(2, requires_grad=True) * 1))
