import torch


@torch.no_grad()
def counted():
    try:
        while True:
            try:
                yield torch.is_grad_enabled()
            except ValueError:
                print("caught", torch.is_grad_enabled())
                yield "after"
    finally:
        print("closed", torch.is_grad_enabled())


numbers = counted()
print(next(numbers), numbers.throw(ValueError))
numbers.close()
print(torch.is_grad_enabled())


@torch.set_grad_enabled(False)
def sent():
    while True:
        given = yield torch.is_grad_enabled()
        if given is None:
            return "done"


one = sent()
print(next(one), one.send(3), torch.is_grad_enabled())
try:
    next(one)
except StopIteration as stop:
    print(stop.value)


def mode():
    return torch.is_inference_mode_enabled(), torch.is_grad_enabled()


print(torch.inference_mode(mode=mode)(), torch.inference_mode(mode)(), torch.no_grad(mode)(), torch.enable_grad(mode)(), mode())


@torch.no_grad()
class Model:
    def __init__(self):
        self.recorded = torch.is_grad_enabled()


print(Model().recorded)
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
zeros = torch.autograd.grad(x * 2, [x, y], materialize_grads=True, create_graph=True)
print(zeros, [one.requires_grad for one in zeros])
