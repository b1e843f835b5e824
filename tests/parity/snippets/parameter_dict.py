from collections import OrderedDict
import torch
import torch.nn as nn
from torch.optim.optimizer import Optimizer, required
def one():
    return nn.Parameter(torch.ones(1))
d = nn.ParameterDict({'b': one(), 'a': one(), 'c': torch.zeros(2)})
print(d, list(d), [n for n, _ in d.named_parameters()])
print(list(nn.ParameterDict(OrderedDict(b=one(), a=one()))), list(nn.ParameterDict([('z', one()), ('y', one())])))
d.update({'z': one(), 'd': one()})
print(list(d), list(reversed(d)), d.get('q', 5), d.get('a') is d['a'])
print(d.pop('a'), d.popitem(), d.setdefault('k', torch.ones(1)), d.copy())
d.update(3)
d.pop('none')
d.clear()
print(len(d), list(d.parameters()))
class Decay(Optimizer):
    def __init__(self, params, lr=required):
        if lr is not required and lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr))
Decay([one()])
Decay([one()], lr=-1)
print(Decay([one()], lr=1))
logs = torch.randn(5, 2, 4, requires_grad=True).log_softmax(2)
nn.functional.ctc_loss(logs, torch.tensor([[1.7, 2.], [2., 3.]]), [5, 5], [2, 1]).backward()
nn.functional.ctc_loss(logs, torch.tensor([[1, 2], [2, 3]]), torch.tensor([5., 5.]), torch.tensor([2, 2]))
