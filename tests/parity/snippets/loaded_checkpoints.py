import copy
import io

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
x = torch.arange(2.)
x.note = ["kept"]
loss = net(x).sum()
loss.backward()
file = io.BytesIO()
torch.save({"loss": loss, "x": x, "part": x[1:], "net": net, "rows": torch.arange(6.).view(2, 3).t()}, file)
file.seek(0)
held = torch.load(file, weights_only=False)
print(held["loss"].is_leaf, held["loss"].requires_grad, held["loss"].grad_fn, held["net"].weight.grad, held["x"].note)
print(held["rows"].stride(), held["part"].storage_offset())
held["part"][0] = 9.
print(held["x"], x, loss.is_leaf)
other = copy.copy(loss)
print(other.is_leaf, other.grad_fn, other.requires_grad, other.data_ptr() == loss.data_ptr())
print(copy.copy(x).note is x.note, copy.deepcopy(x).note is x.note, copy.deepcopy(x).note)
copy.deepcopy(loss)


class Late(torch.optim.Adam):
    def __setstate__(self, state):
        print(sorted(state))
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("clip", 1.)


opt = Late(net.parameters(), lr=0.1)
opt.step()
state = opt.state_dict()
state["param_groups"][0]["lr"] = 0.5
groups, group = opt.param_groups, opt.param_groups[0]
opt.load_state_dict(state)
print(opt, groups is opt.param_groups, group["lr"], opt.param_groups[0]["lr"])
named, plain = torch.optim.SGD(net.named_parameters(), lr=0.1), torch.optim.SGD(net.parameters(), lr=0.2)
named.load_state_dict(plain.state_dict())
print(named)
