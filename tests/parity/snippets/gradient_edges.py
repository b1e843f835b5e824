import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

x = torch.tensor([2.0, 3.0], requires_grad=True)
y = x * 2
z = y**2
edge = get_gradient_edge(y)
print(isinstance(edge, GradientEdge), edge.output_nr, edge.node is y.grad_fn, len(edge))
print(torch.autograd.grad(z.sum(), GradientEdge(y.grad_fn, 0), retain_graph=True))
print(torch.autograd.grad(get_gradient_edge(z), x, grad_outputs=torch.ones(2), retain_graph=True))
torch.autograd.backward(z.sum(), inputs=[get_gradient_edge(x)], retain_graph=True)
print(x.grad)
torch.autograd.backward(z.sum(), inputs=edge, retain_graph=True)
z.sum().backward(inputs=[edge], retain_graph=True)
print(x.grad)
torch.autograd.backward(get_gradient_edge(z.sum()))
print(x.grad)
a, b = (x * 3).unbind()
print(torch.autograd.grad(a + b, [get_gradient_edge(b), get_gradient_edge(a)]))
try:
    torch.autograd.grad(x.sum(), [get_gradient_edge(x * 2)], materialize_grads=True)
except RuntimeError as error:
    print(error)
try:
    torch.autograd.grad(x.sum(), [get_gradient_edge(x * 2)])
except RuntimeError as error:
    print(error)
