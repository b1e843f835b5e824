"""What nn.Module promises: registration, names, errors, state, hooks, containers, conversion."""

import pytest

from tests.api.twin import twin

pytest.importorskip("torch")


def test_registration() -> None:
    """Attributes become parameters, buffers and modules; wrong ones are refused in PyTorch's words."""
    twin("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.w = nn.Parameter(torch.ones(3))
        self.register_buffer('b', torch.zeros(2))
        self.register_buffer('c', torch.zeros(1), persistent=False)
        self.plain = torch.ones(1)
        self.n = 3
        self.tied = self.a
        self.none = None
    def forward(self, x):
        return self.a(x)
m = Net()
note(repr(m), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], [n for n,
    _ in m.named_modules()], [n for n, _ in m.named_children()])
note([n for n, _ in m.named_parameters(remove_duplicate=False)], list(m.state_dict()), m.training, m.eval().training,
    m.a.training)
def put(name, value):
    setattr(m, name, value)
for attempt in [
    lambda: put('w', torch.ones(3)), lambda: put('a', 5), lambda: put('b', 5), lambda: m.missing,
        lambda: m.register_parameter('x.y', None),
    lambda: m.register_parameter('', None), lambda: m.register_parameter('n', None),
        lambda: m.register_parameter('q', torch.ones(1)),
    lambda: m.register_parameter('q', 5), lambda: m.register_buffer('n', None), lambda: m.register_buffer('k', 5),
        lambda: m.add_module('n', nn.Tanh()),
    lambda: m.add_module('a.b', nn.Tanh()), lambda: m.add_module('z', 5), lambda: m.register_parameter('q',
        nn.Parameter(torch.ones(1)) * 2),
    lambda: m.get_submodule('a.foo'), lambda: m.get_parameter('a.weight').shape, lambda: m.train('x'),
        lambda: nn.Module()(1), lambda: nn.Module(5),
    lambda: nn.Linear(2), lambda: nn.ReLU(nope=1), lambda: nn.ReLU(False, 1), lambda: nn.Dropout(2.0),
        lambda: nn.Linear(2, 3)(torch.ones(1, 4)),
]:
    fails(attempt)
class Early(nn.Module):
    def __init__(self):
        self.a = nn.Linear(1, 1)
class EarlyParameter(nn.Module):
    def __init__(self):
        self.a = nn.Parameter(torch.ones(1))
fails(Early)
fails(EarlyParameter)
del m.w
m.a = None
note(repr(m), [n for n, _ in m.named_parameters()])
""")


def test_state() -> None:
    """state_dict shares memory; load_state_dict copies in place, and says what does not fit."""
    twin("""
m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1, bias=False))
s = m.state_dict()
note(list(s), [v.requires_grad for v in s.values()])
m[0].weight.data.zero_()
note(s['0.weight'])
n = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1, bias=False))
note(repr(n.load_state_dict(s)), [p._version for p in n.parameters()], list(n.parameters()))
for given, strict in [({}, True), ({'0.weight': torch.ones(1, 1)}, True), ({'foo': torch.ones(1)}, False), ({**s,
    'x.y': 1}, True), (5, True), ({**s, '0.bias': 5}, True)]:
    fails(lambda: repr(n.load_state_dict(given, strict=strict)))
""")


def test_conversion_and_apply() -> None:
    """to, double, apply, zero_grad, requires_grad_."""
    twin("""
m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
w = m[0].weight
m(torch.randn(4, 2)).sum().backward()
m.double()
note(w is m[0].weight, w.dtype.is_floating_point, str(w.dtype), str(w.grad.dtype),
    [str(b.dtype) for b in m.buffers()], [p._version for p in m.parameters()])
m.to(torch.float32).to('cpu')
note([str(p.dtype) for p in m.parameters()])
fails(lambda: m.to(torch.int64))
names = []
m.apply(lambda one: names.append(type(one).__name__))
note(names)
m.zero_grad(set_to_none=False)
note([p.grad for p in m.parameters()])
m.zero_grad()
note([p.grad for p in m.parameters()])
m.requires_grad_(False)
note([p.requires_grad for p in m.parameters()])
""")


def test_containers() -> None:
    """Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict as lists and dictionaries."""
    twin("""
from collections import OrderedDict
s = nn.Sequential(OrderedDict([('one', nn.Linear(1, 1)), ('two', nn.ReLU())]))
note(repr(s), len(s), repr(s[0:1]), repr(s[-1]), repr(s + nn.Sequential(nn.Tanh())))
s.append(nn.Tanh())
note(repr(s))
fails(lambda: s[7])
l = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)] + [nn.ReLU()])
l.insert(1, nn.Tanh())
l += [nn.Sigmoid()]
del l[0]
note(repr(l), len(l), repr(l[1:3]), [type(one).__name__ for one in l], repr(l.pop(-1)))
fails(lambda: l[9])
fails(lambda: l(1))
d = nn.ModuleDict({'a': nn.Linear(1, 1), 'b': nn.ModuleDict({'c': nn.ReLU()})})
note(repr(d), list(d.keys()), 'a' in d, len(d), repr(d.pop('a')))
fails(lambda: d['zz'])
p = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1, 2))])
p.append(torch.ones(3))
note(repr(p), len(p), [n for n, _ in p.named_parameters()], p[0].requires_grad)
q = nn.ParameterDict({'x': torch.ones(2)})
q['y'] = nn.Parameter(torch.zeros(1))
note(repr(q), list(q.keys()), [n for n, _ in q.named_parameters()])
""")


def test_copies() -> None:
    """deepcopy makes a module of its own."""
    twin("""
import copy
m = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
n = copy.deepcopy(m)
n[0].weight.data.fill_(3.0)
note(m[0].weight, n[0].weight, repr(n), [p._version for p in n.parameters()])
""")


def test_init() -> None:
    """Initialisers draw PyTorch's numbers."""
    twin("""
w = torch.empty(4, 6)
for fill in [
    lambda: nn.init.uniform_(w, -1, 2), lambda: nn.init.normal_(w, 1.0, 2.0), lambda: nn.init.constant_(w, 3.0),
        lambda: nn.init.ones_(w), lambda: nn.init.zeros_(w),
    lambda: nn.init.eye_(w), lambda: nn.init.xavier_uniform_(w, 2.0), lambda: nn.init.xavier_normal_(w),
        lambda: nn.init.kaiming_uniform_(w, nonlinearity='relu'),
    lambda: nn.init.kaiming_normal_(w, mode='fan_out'), lambda: nn.init.trunc_normal_(w, std=0.5),
        lambda: nn.init.trunc_normal_(w), lambda: nn.init.trunc_normal_(w, 0.0, 1.0, 0.5, 0.9),
        lambda: nn.init.orthogonal_(w), lambda: nn.init.sparse_(w, 0.5),
]:
    note(fill().clone(), w._version)
note(nn.init.dirac_(torch.empty(4, 2, 3, 3)), nn.init.orthogonal_(torch.empty(6, 4)),
    nn.init.calculate_gain('leaky_relu', 0.2), nn.init.calculate_gain('tanh'))
for wrong in [lambda: nn.init.xavier_uniform_(torch.ones(3)), lambda: nn.init.calculate_gain('nope'),
    lambda: nn.init.kaiming_uniform_(w, mode='x'), lambda: nn.init.eye_(torch.ones(3))]:
    fails(wrong)
""")
