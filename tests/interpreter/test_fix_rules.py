"""Which fixes are found: the first one that was seen to work, and what is not offered because it would end the learning."""

import pytest

from gradsh.session.session import Session

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
STEP = "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
MADE_IN_INIT = (
    "class Positive(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.log = nn.Parameter(torch.zeros(2))\n"
    "        self.w = torch.exp(self.log)\n    def forward(self, x):\n        return (x * self.w).sum()\n"
    "net = Positive()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in range(2):\n    loss = net(torch.ones(2))\n" + STEP
)
STATES = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.cell = nn.RNNCell(2, 2)\n"
    "        self.states = [torch.zeros(1, 2)]\n    def forward(self, x):\n        self.states[0] = self.cell(x, self.states[0])\n"
    "        return self.states[0].sum()\nnet = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(2):\n    loss = net(torch.ones(1, 2))\n" + STEP
)
ACTOR = (
    "actor, critic = nn.Linear(2, 1), nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))\ns = torch.ones(3, 2)\n"
    "opt = torch.optim.SGD(critic.parameters(), lr=0.1)\nerror = 1 - critic(s)\nvalue_loss = error.pow(2).mean()\nvalue_loss.backward()\n"
    "opt.step()\nopt = torch.optim.SGD(actor.parameters(), lr=0.1)\nloss = -(actor(s) * error).mean()\n"
    "opt.zero_grad()\nloss.backward()\nopt.step()\n"
)
SHADOW = (
    "class Ema:\n    def __init__(self, ps):\n        self.shadow = [p.detach().clone().requires_grad_() for p in ps]\n"
    "    def update(self, ps):\n        for s, p in zip(self.shadow, ps):\n            s.mul_(0.9).add_(p.detach())\n            print(s)\n"
    "net = nn.Linear(2, 1)\nema = Ema(net.parameters())\nema.update(net.parameters())\n"
)
DICE = (
    "def dice(logits, target):\n    p = torch.sigmoid(logits)\n    hard = (p > 0.5).float()\n"
    "    return 1 - (2 * (hard * target).sum() + 1) / (hard.sum() + target.sum() + 1)\n"
    "net, seg = nn.Linear(2, 2), torch.ones(3, 2)\nloss = dice(net(torch.randn(3, 2)), seg)\nloss.backward()\n"
)
MEAN = (
    "class Reverse(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, a):\n        return x.view_as(x)\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return -2 * g.mean(1), None\n"
    "x = torch.ones(3, 2, requires_grad=True)\nReverse.apply(x, 1).sum().backward()\n"
)
REBOUND = (
    "w, b = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)\nfor i in range(3):\n"
    "    loss = (w * 2 + b).sum()\n    loss.backward()\n    w = w - 0.1 * w.grad\n    b = b - 0.1 * b.grad\n"
)
OF_A_LEAF = "a = torch.zeros(2, requires_grad=True)\nb = a[1]\nb.add_(1)\n"
FILLED = (
    "class Flat(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return (x * 3).view(-1)\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g.view(2, 2) * 3\n"
    "x = torch.ones(2, 2, requires_grad=True)\nout = Flat.apply(x)\nwith torch.no_grad():\n    out.fill_(1)\nout.sum().backward()\n"
)
BOUND_ANEW = (
    "a = torch.ones(3, requires_grad=True)\nb = a * 2\nb[1] = 2\nb.sum().backward()\nb = a.sigmoid()\nb[1] = 2\nb.sum().backward()\n"
)
NO_GRADIENT_YET = "w = torch.ones(2, requires_grad=True)\nfor i in range(2):\n    w.grad.zero_()\n    (w * w).sum().backward()\n"
ONE_LOSS = "w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\n"
NUMBERS = (
    "net, total = nn.Linear(2, 1), 0\nfor x in torch.randn(2, 3, 2):\n    total += net(x).pow(2).mean().item()\ntotal.backward()\n"
)
CHANGED = (
    "x = torch.ones(3, requires_grad=True)\nG = x.exp()\nD = torch.tensor(2., requires_grad=True)\nopt = torch.optim.SGD([D], lr=0.1)\n"
    "score = (G * D).exp().sum()\nscore.backward()\nopt.step()\nloss = score * 2\nloss.backward()\n"
)
RUNNING = (
    "class Norm(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.g = nn.Parameter(torch.ones(2))\n"
    "        self.m, self.v = torch.zeros(2), torch.ones(2)\n    def forward(self, x):\n"
    "        self.m = 0.9 * self.m + 0.1 * x.exp().mean(0)\n"
    "        self.v = 0.9 * self.v + 0.1 * x.var(0)\n        return self.g * (x - self.m) / (self.v + 1).sqrt()\n"
    "net = nn.Sequential(nn.Linear(2, 2), Norm())\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(3):\n    loss = net(torch.randn(4, 2)).pow(2).mean()\n" + STEP
)
READ_IN_A_FUNCTION = (
    "w = nn.Parameter(torch.ones(2))\nunit = F.normalize(w, dim=0)\nnet = nn.Linear(2, 2)\n"
    "def loss_of(x):\n    return (net(x) @ unit).sum()\n"
    "opt = torch.optim.SGD([w, *net.parameters()], lr=0.1)\nfor i in range(2):\n    loss = loss_of(torch.ones(1, 2))\n" + STEP
)
SPARE = (
    "net, spare = nn.Linear(2, 1), nn.Linear(2, 1)\nnet(torch.ones(1, 2)).sum().backward()\nwith torch.no_grad():\n"
    "    for p in [*net.parameters(), *spare.parameters()]:\n        p -= 0.1 * p.grad\n"
)
NO_SUPER = "class Net(nn.Module):\n    def __init__(self):\n        self.a = nn.Linear(2, 1)\nnet = Net()\n"
NOT_CALLED = "x = torch.ones(2, requires_grad=True)\nloss = x.exp().sum\nloss.backward()\n"
VECTOR = "rows, goal = torch.ones(3, 2), torch.ones(2)\nx = torch.cat([rows, goal], dim=1)\n"

CRITIC = (
    "g, c = nn.Linear(1, 2), nn.Linear(2, 1)\nopt, own = torch.optim.SGD(c.parameters()), torch.optim.SGD(g.parameters())\n"
    "fake = g(torch.ones(3, 1))\nfor i in range(2):\n    loss = c(fake).mean()\n" + STEP
    + "own.zero_grad()\nloss = -c(fake).mean()\nloss.backward()\nown.step()\n"
)
PENALTY = (
    "net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))\nx = torch.ones(1, 2, requires_grad=True)\n"
    "y = net(x).sum()\ng, = torch.autograd.grad(y, x)\nloss = y + g.pow(2).sum()\nloss.backward()\n"
)
ROWS = (
    "w = torch.ones(2, requires_grad=True)\ng, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)\n"
    "rows = []\nfor i in range(2):\n    rows.append(torch.autograd.grad(g, w, retain_graph=True)[0])\n"
)
GUARDED = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.code = nn.Parameter(torch.ones(2))\n"
    "        self.made = None\n    def forward(self, x):\n        if self.made is None:\n            self.made = torch.tanh(self.code)\n"
    "        return x * self.made\nnet = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(2):\n    loss = net(torch.ones(2)).sum()\n" + STEP
)
DECORATED = "@torch.no_grad()\ndef encode(x):\n    return net(x)\nnet = nn.Linear(1, 1)\nencode(torch.ones(1)).sum().backward()\n"
SEVERAL = "w = torch.ones(2, requires_grad=True)\nlosses = [w * 2, w * 3]\ntorch.autograd.backward(losses)\n"
QUEUE = (
    "class Queue:\n    def __init__(self):\n        self.items = []\n    def push(self, z):\n        self.items.append(z)\n"
    "        self.items = self.items[-2:]\nqueue, net = Queue(), nn.Linear(1, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(2):\n    queue.push(net(torch.ones(1)).exp())\n    loss = sum(queue.items).sum()\n" + STEP
)
COPIED = (
    "import copy\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(1, 1)\n"
    "    def forward(self, x):\n        h = self.l(x)\n        self.last = h\n        return h\nnet = Net()\n"
    "net(torch.ones(1)).sum().backward()\ntwin = copy.deepcopy(net)\n"
)
ACCURACY = (
    "net, y = nn.Linear(2, 2), torch.tensor([0, 1])\ndef scores(out):\n"
    '    return {"loss": F.cross_entropy(out, y), "right": (out.argmax(1) == y).float().mean()}\n'
    'found = scores(net(torch.eye(2)))\nloss = 1 - found["right"]\nloss.backward()\n'
)
ENCODER = (
    "enc, dec, dis = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 1)\nboth = torch.optim.SGD([*enc.parameters(), *dec.parameters()])\n"
    "opt = torch.optim.SGD(dis.parameters())\ncode = torch.tanh(enc(torch.ones(3, 2)))\nboth.zero_grad()\n"
    "dec(code).pow(2).mean().backward()\nboth.step()\nloss = dis(code).mean()\nopt.zero_grad()\nloss.backward()\nopt.step()\n"
)
CARRIED_VALUE = (
    "v = nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1))\nopt = torch.optim.SGD(v.parameters(), lr=0.1)\n"
    "next_value = v(torch.ones(1))\n"
    "for i in range(2):\n    value = v(torch.zeros(1) + i)\n    loss = (1 + next_value - value).pow(2).sum()\n" + STEP
    + "    next_value = value\n"
)
WEIGHTS = (
    "class Net:\n    def __init__(self):\n        self.w = []\n        for n in range(1, 3):\n"
    "            self.w.append(torch.randn(2, 2) / n)\n"
    "    def __call__(self, x):\n        for w in self.w:\n            x = x @ w\n        return x\n"
    "net = Net()\nloss = net(torch.randn(1, 2)).sum()\nloss.backward()\n"
)
PLACES = (
    "net = nn.Linear(2, 3)\ndef best(x):\n    _, place = net(x).topk(1)\n    return place.float().mean()\n"
    "loss = best(torch.ones(1, 2))\nloss.backward()\n"
)

KEYED = (
    "class Policy(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(1, 1)\n"
    '        self.saved = {"logs": [], "rewards": []}\n    def act(self):\n        self.saved["logs"].append(self.l(torch.ones(1)).exp())\n'
    'def update(policy):\n    loss = torch.cat(policy.saved["logs"]).sum()\n' + STEP
    + "policy = Policy()\nopt = torch.optim.SGD(policy.parameters(), lr=0.1)\nfor i in range(2):\n    policy.act()\n    update(policy)\n"
)
REPLAYED = (
    "from collections import deque\nmemory, net = deque(maxlen=4), nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(2):\n    memory.append((net(torch.ones(1)).exp(), 1.0))\n    loss = sum(v * r for v, r in memory).sum()\n" + STEP
)
FAST = (
    "ws = [torch.ones(2, requires_grad=True)]\ndef adapted():\n    fast = []\n    for w in ws:\n"
    "        g, = torch.autograd.grad((w ** 2).sum(), w, create_graph=True)\n        w -= 0.1 * g\n        fast.append(w)\n"
    "    return fast\nsum(w.sum() for w in adapted()).backward()\n"
)
INFERRED = (
    "net, head = nn.Linear(2, 2), nn.Linear(2, 1)\n@torch.inference_mode()\ndef features(x):\n    return net(x)\n"
    "head(features(torch.ones(1, 2))).sum().backward()\n"
)
CUT_ON_THE_WAY = (
    "net = nn.Linear(2, 1)\ndef model(x, t):\n    return net(torch.cat([x, t.detach()], 1))\ndef slope(u, by):\n"
    "    return torch.autograd.grad(u.sum(), by, create_graph=True)[0]\n"
    "a, b = torch.ones(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)\nslope(model(a, b), b)\n"
)
PART_FROZEN = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.body, self.head = nn.Linear(2, 2), nn.Linear(2, 1)\n"
    "    def forward(self, x):\n        return self.head(self.body(x))\ndef freeze(model):\n    for p in model.parameters():\n"
    "        p.requires_grad = False\nnet = Net()\nfreeze(net)\nopt = torch.optim.SGD(net.head.parameters(), lr=0.1)\n"
    "net(torch.ones(1, 2)).sum().backward()\n"
)
TRUNK = (
    "body, heads = nn.Linear(1, 2), [nn.Linear(2, 1), nn.Linear(2, 1)]\ndef losses(x):\n    h = body(x).exp()\n    for head in heads:\n"
    "        yield head(h).sum()\nfor loss in losses(torch.ones(1)):\n    loss.backward()\n"
)
ACTIVATION = (
    "import copy\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(1, 1)\n"
    "    def forward(self, x):\n        self.last = self.l(x)\n        return self.last.exp()\nnet = Net()\n"
    "net(torch.ones(1)).sum().backward()\ntwin = copy.deepcopy(net)\n"
)
EPOCH = (
    "net, total = nn.Linear(1, 1), 0\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor i in range(2):\n"
    "    opt.zero_grad()\n    total += net(torch.ones(1)).exp().sum()\n    total.backward()\n    opt.step()\n"
)
WINDOW = (
    "class Reader:\n    def __init__(self):\n        self.cell, self.h = nn.RNNCell(1, 2), torch.zeros(1, 2)\n"
    "    def read(self, xs):\n        for x in xs:\n            self.h = self.cell(x, self.h)\n        return self.h.sum()\n"
    "reader = Reader()\nopt = torch.optim.SGD(reader.cell.parameters(), lr=0.1)\nfor i in range(2):\n"
    "    loss = reader.read(torch.ones(2, 1, 1))\n" + STEP
)
STYLE = (
    "class Transfer:\n    def __init__(self, x):\n        self.net = nn.Linear(2, 2)\n"
    "        self.goals = [self.net(x).exp() for i in range(2)]\n"
    "        self.goal = self.net(x).exp()\n        self.x = torch.ones(2, requires_grad=True)\n"
    "        self.opt = torch.optim.SGD([self.x], lr=0.1)\n    def step(self):\n        y = self.net(self.x)\n"
    "        loss = (y - self.goal).pow(2).sum() + sum((y - g).pow(2).sum() for g in self.goals)\n"
    "        self.opt.zero_grad()\n        loss.backward()\n        self.opt.step()\ndef run(n):\n    transfer = Transfer(torch.zeros(2))\n"
    "    for i in range(n):\n        transfer.step()\nrun(2)\n"
)
TARGETS = (
    "import copy\nactor, critic = nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 2), nn.Tanh(), nn.Linear(2, 1))\n"
    "old = copy.deepcopy(critic)\n"
    "own, opt = torch.optim.SGD(actor.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)\ns = torch.ones(2, 1)\n"
    "for i in range(2):\n    value_loss, loss = (critic(s) - old(s).detach()).sum(), -critic(actor(s)).sum()\n    opt.zero_grad()\n"
    "    value_loss.backward()\n    opt.step()\n    own.zero_grad()\n    loss.backward()\n    own.step()\n"
    "    for a, b in zip(old.parameters(), critic.parameters()):\n        a.data.copy_(b.data)\n"
)

POOL = (
    "class Gan:\n    def __init__(self):\n        self.g, self.d = nn.Linear(1, 2), nn.Linear(2, 1)\n"
    "        self.own = torch.optim.SGD(self.g.parameters(), lr=0.1)\n        self.opt = torch.optim.SGD(self.d.parameters(), lr=0.1)\n"
    "    def make(self):\n        self.fake = self.g(torch.ones(3, 1)).exp()\n        return -self.d(self.fake).mean()\n"
    "    def judge(self):\n        old = torch.cat([self.fake])\n        return self.d(old).mean()\n"
    "    def step(self):\n        loss = self.make()\n        self.own.zero_grad()\n        loss.backward()\n        self.own.step()\n"
    "        loss = self.judge()\n        self.opt.zero_grad()\n        loss.backward()\n        self.opt.step()\nGan().step()\n"
)
STORED = (
    "class Agent:\n    def __init__(self):\n        self.a, self.c = nn.Linear(1, 1), nn.Linear(1, 1)\n        self.found = {}\n"
    "        self.own, self.opt = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (self.a, self.c))\n"
    '    def evaluate(self, s):\n        self.found["p"], self.found["q"] = self.c(self.a(s)), self.c(s)\n'
    '    def critic(self):\n        loss = self.found["q"].mean()\n        self.opt.zero_grad()\n        loss.backward()\n'
    '        self.opt.step()\n    def actor(self):\n        loss = -self.found["p"].mean()\n        self.own.zero_grad()\n'
    "        loss.backward()\n        self.own.step()\nagent, s = Agent(), torch.ones(1, 1)\nfor i in range(2):\n"
    "    agent.evaluate(s)\n    agent.critic()\n    if i % 2 == 0:\n        agent.actor()\n"
)
TOGETHER = (
    "import numpy as np\nnet = nn.Linear(2, 2)\ndef soft(x):\n    return torch.from_numpy(np.exp(x.detach().numpy()))\ndef outputs(x):\n"
    "    h, found = net(x), []\n    for i in range(2):\n        h = soft(h)\n        found.append(h)\n    return torch.stack(found)\n"
    "loss = outputs(torch.ones(1, 2)).sum()\nloss.backward()\n"
)
UNROLLED = (
    "rate, w = torch.tensor(0.1, requires_grad=True), torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([rate], lr=0.1)\n"
    "for i in range(2):\n    g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)\n"
    "    w = w - rate * g\n    loss = w.pow(2).sum()\n" + STEP
)

TOLD_SO = (
    "net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))\ndef train(module, on):\n    for p in module.parameters():\n"
    "        p.requires_grad_(on)\ntrain(net[0], False)\ntrain(net[1], False)\nnet(torch.ones(1)).sum().backward()\n"
)
DRAWN = (
    "at = torch.rand(2, requires_grad=True)\nopt = torch.optim.SGD([at], lr=0.1)\ndef draw():\n    image = torch.zeros(4)\n"
    "    place = (at * 3).round().long()\n    image[place] = 1.0\n    return image\nloss = draw().sum()\nloss.backward()\n"
)
KEPT = (
    'net, kept = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1)), {}\ndef hook(module, given, out):\n    kept["h"] = out\n'
    "net[0].register_forward_hook(hook)\nnet(torch.ones(1)).sum().backward()\nfor h in kept.values():\n    h.grad.sum()\n"
)
SET_AGAIN = (
    "class Layer:\n    pass\nlayer = Layer()\nlayer.w = torch.ones(2, requires_grad=True)\nfor i in range(2):\n"
    "    (layer.w ** 2).sum().backward()\n    for name in ['w']:\n"
    "        setattr(layer, name, getattr(layer, name) - 0.1 * getattr(layer, name).grad)\n"
)
CACHE = (
    "key, value, cache = nn.Linear(1, 2), nn.Linear(1, 2), []\nopt = torch.optim.SGD([*key.parameters(), *value.parameters()], lr=0.1)\n"
    "for i in range(2):\n    x = torch.ones(1, 1)\n    cache.append((key(x).exp(), value(x).exp()))\n    del cache[:-3]\n"
    "    loss = sum((a * b).sum() for a, b in cache)\n" + STEP
)

ADAPTERS = (
    "class Adapter(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.l = nn.Linear(1, 1).requires_grad_(False)\n"
    "        self.scale = nn.Parameter(torch.ones(1))\n    def forward(self, x):\n        scale = self.scale.item()\n"
    "        return x + scale * self.l(x)\nparts = nn.ModuleList([Adapter(), Adapter()])\n"
    "opt = torch.optim.SGD([p for p in parts.parameters() if p.requires_grad], lr=0.1)\n"
    "def run(x):\n    for number, part in enumerate(parts):\n        x = part(x)\n"
    "    return x\nloss = run(torch.ones(1)).sum()\nloss.backward()\n"
)

ZIPPED = (
    "def normalize(image, means):\n    for row, mean in zip(image, means):\n        row.sub_(mean)\n    return image\n"
    "normalize(torch.ones(2, 3, requires_grad=True) * 2, [0.5, 0.4]).sum().backward()\n"
)

LONG = (
    "import matplotlib.pyplot as plt\nG, D = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)), nn.Linear(2, 1)\n"
    "opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())\nfor step in range(100_000):\n"
    "    fake = G(torch.randn(4, 2))\n    score = D(fake)\n    g_loss = torch.log(1 + score.exp()).mean()\n"
    "    opt_g.zero_grad()\n    g_loss.backward()\n    opt_g.step()\n    score = D(fake)\n    real = D(torch.ones(4, 2))\n"
    "    d_loss = (score - real).mean()\n    opt_d.zero_grad()\n    d_loss.backward()\n    opt_d.step()\n    plt.plot(step)\n"
)
AGAIN_BY_ITS_NUMBER = (
    "def train(net, opt):\n    for i in range(3):\n        loss = net(torch.ones(1, 2)).mean()\n        opt.zero_grad()\n"
    "        loss = torch.tensor(loss.item())\n        loss.backward()\n        opt.step()\n    best = net(torch.ones(1, 2)).max().item()\n"
    "    return best\nnet = nn.Linear(2, 2)\ntrain(net, torch.optim.SGD(net.parameters()))\n"
)
PLAIN_UPDATES = (
    "x = torch.ones(4, 3)\nw1 = torch.ones(3, 2, requires_grad=True)\nw2 = torch.ones(2, 1, requires_grad=True)\nfor step in range(3):\n"
    "    loss = (x @ w1 @ w2).pow(2).sum()\n    loss.backward()\n    if True:\n        w1 -= 1e-3 * w1.grad\n"
    "        w2 -= 1e-3 * w2.grad\n        w1.grad.zero_()\n        w2.grad.zero_()\n"
)
LEAF_LOST_BY_UPDATE = (
    "x, w = torch.ones(4, 3), torch.ones(3, 1, requires_grad=True)\nfor step in range(3):\n    loss = (x @ w).pow(2).sum()\n"
    "    loss.backward()\n    with torch.no_grad():\n        w = w - 1e-3 * w.grad\n        w.grad.zero_()\n"
)
ONCE = (
    "from torch.autograd.function import once_differentiable\nclass Cube(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x ** 3\n    @staticmethod\n    @once_differentiable\n"
    "    def backward(ctx, g):\n        return 3 * g * ctx.saved_tensors[0] ** 2\n"
    "x = torch.ones(2, requires_grad=True)\ng, = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)\ng.sum().backward()\n"
)
SECOND_DERIVATIVE = (
    "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\ndef slope(y, x):\n"
    "    return torch.autograd.grad(y, x, torch.ones_like(y))[0]\n"
    "t, x = torch.ones(2, 1, requires_grad=True), torch.ones(2, 1, requires_grad=True)\nu = net(torch.cat([t, x], 1))\n"
    "loss = (slope(u, t) + slope(slope(u, x), x)).pow(2).mean()\nloss.backward()\n"
)
GATHERED = (
    "net = nn.Linear(2, 1)\ndef scores(x):\n    rows = []\n    for part in x.split(2):\n"
    "        rows.extend(net(part).squeeze(1).tolist())\n    return torch.tensor(rows)\nscores(torch.ones(4, 2)).sum().backward()\n"
)
BOUND = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.rate = nn.Parameter(torch.ones(1))\n"
    "    def forward(self, x):\n        self.rate = self.rate.clamp(min=0.1)\n        return (x * self.rate).sum()\n"
    "net = Net()\nnet(torch.ones(2)).backward()\n"
)
META = (
    "import copy\nnet = nn.Linear(1, 1)\ndef adapted():\n    fast = copy.deepcopy(net)\n    return fast(torch.ones(1)).sum()\n"
    "loss = adapted()\ngrads = torch.autograd.grad(loss, list(net.parameters()))\n"
)
SPECTRAL = (
    "class Norm(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.randn(2, 2))\n"
    "        self.register_buffer('u', torch.ones(2))\n    def forward(self, x):\n        v = F.normalize(self.w.t() @ self.u, dim=0)\n"
    "        self.u = F.normalize(self.w @ v, dim=0)\n        return x @ (self.w / (self.u @ self.w @ v))\n"
    "class Critic(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.layers = nn.ModuleList([Norm(), Norm()])\n"
    "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x.sum()\n"
    "class Run:\n    def __init__(self):\n        self.critic = Critic()\n"
    "        self.opt = torch.optim.SGD(self.critic.parameters(), lr=0.1)\n    def step(self):\n"
    "        self.opt.zero_grad()\n        self.critic(torch.ones(1, 2)).backward()\n        self.opt.step()\nrun = Run()\n"
    "for i in range(2):\n    run.step()\n"
)
RAW = (
    "class Gauss(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.raw = nn.Parameter(torch.zeros(2, 2))\n"
    "    def forward(self, x):\n        self.raw.diagonal().exp_()\n        return (x @ torch.tril(self.raw)).sum()\n"
    "net = Gauss()\nnet(torch.ones(1, 2)).backward()\n"
)
WINDOWS = (
    "cell, states = nn.Linear(2, 2), []\nopt = torch.optim.SGD(cell.parameters(), lr=0.1)\nh = torch.zeros(1, 2)\nfor i in range(3):\n"
    "    start = h.detach().requires_grad_()\n    h = torch.tanh(cell(start))\n    states.append((start, h))\n"
    "    h.sum().backward(retain_graph=True)\n    for (_, before), (after, _) in zip(states, states[1:]):\n"
    "        before.backward(after.grad, retain_graph=True)\n    opt.step()\n"
)
NEIGHBOURS = (
    "class Bank:\n    def __init__(self):\n        self.net, self.queue = nn.Linear(1, 2), torch.zeros(4, 2)\n    def loss(self, x):\n"
    "        z = self.net(x)\n        scores = z @ self.queue.t()\n        self.queue[:1] = z\n        return scores.exp().sum()\n"
    "bank = Bank()\nopt = torch.optim.SGD(bank.net.parameters(), lr=0.1)\nfor i in range(2):\n    loss = bank.loss(torch.ones(1, 1))\n"
) + STEP
HANDED = (
    "def remember(memory, value):\n    memory.append(value)\ndef update(items):\n    loss = sum(items).sum()\n" + STEP
    + "net, kept = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1)), []\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(2):\n    remember(kept, net(torch.ones(1)))\n    update(kept)\n"
)

PARTS_READ = (
    "net, total = nn.Linear(2, 2), 0\nrows = net(torch.ones(3, 2))\nfor row in rows.unbind(0):\n    row.relu_()\n"
    "    total = total + row.sum()\ntotal.backward()\n"
)
WHOLE_READ = (
    "net = nn.Linear(2, 4)\ndef unit(x):\n    for part in x.chunk(2, dim=-1):\n        part /= part.norm()\n    return x\n"
    "unit(net(torch.ones(3, 2))).sum().backward()\n"
)
HOOKED = (
    "seen = {}\ndef keep(module, inputs, out):\n    seen['a'] = out.detach()\n"
    "net = nn.Linear(2, 2)\nnet.register_forward_hook(keep)\nnet(torch.ones(1, 2))\nloss = seen['a'].abs().sum()\nloss.backward()\n"
)
HOOKED_LIST = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc, self.seen = nn.Linear(2, 2), []\n"
    "        self.fc.register_forward_hook(self.keep)\n    def keep(self, module, inputs, out):\n        self.seen.append(out.detach())\n"
    "net = Net()\nnet.fc(torch.ones(1, 2))\nloss = net.seen[-1].abs().sum()\nloss.backward()\n"
)
RESIDUAL = (
    "def slope(y, x):\n    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]\nnet = nn.Linear(2, 1)\n"
    "x = torch.rand(4, 1, requires_grad=True)\nt = torch.rand(4, 1)\nu = net(torch.cat([x, t], 1))\n"
    "loss = (slope(u, t) + slope(u, x)).pow(2).mean()\nloss.backward()\n"
)
NOISED = (
    "import numpy as np\nnet = nn.Linear(2, 2)\ndef draw(x):\n    mean = net(x)\n    noise = np.random.standard_normal(mean.shape)\n"
    "    return torch.tensor(mean.detach().numpy() + noise, dtype=torch.float32)\nloss = draw(torch.ones(1, 2)).sum()\nloss.backward()\n"
)
SCAN = (
    "w, a = torch.full((3,), 0.5, requires_grad=True), torch.ones(3, requires_grad=True).exp()\nfor j in range(3):\n"
    "    a[j] = (a * w).sum()\na.sum().backward()\n"
)
TRANSLATIONS = (
    "A, B, Da, Db = (nn.Linear(2, 2) for _ in range(4))\nopt = torch.optim.SGD([*Da.parameters(), *Db.parameters()], lr=0.1)\n"
    "a, b = torch.tanh(A(torch.ones(2))), torch.tanh(B(torch.ones(2)))\nloss = Da(a).sum() + Db(b).sum()\nloss.backward()\n"
    "for i in range(1):\n    loss = Da(a).pow(2).sum() + Db(b).pow(2).sum()\n" + STEP
)
PLACED = (
    "class Embed(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.table = nn.Parameter(torch.ones(3, 2))\n"
    "        self.places = nn.Parameter(torch.ones(2, 2))\n    def forward(self, n):\n        x = self.table[:n]\n"
    "        x += self.places[:n]\n        return x.sum()\nnet = Embed()\nloss = net(2)\nloss.backward()\n"
)
SNAPSHOT = (
    "net = nn.Linear(2, 1)\nold = {n: p.detach().clone() + 0.1 for n, p in net.named_parameters()}\ndef drift(net):\n"
    "    now = {n: p.data for n, p in net.named_parameters()}\n    return sum((now[n] - old[n]).pow(2).sum() for n in now)\n"
    "loss = drift(net)\nloss.backward()\n"
)
DRAWN_BY_A_GENERATOR = (
    "cell = nn.RNNCell(2, 2)\nopt = torch.optim.SGD(cell.parameters(), lr=0.1)\ndef states():\n    h = torch.zeros(1, 2)\n"
    "    for i in range(3):\n        h = cell(torch.ones(1, 2), h)\n        yield h\nfor h in states():\n    loss = h.sum()\n" + STEP
)
SAMPLED = (
    "net = nn.Linear(2, 2)\ndef encode(x):\n    mean = net(x)\n    q = torch.distributions.Normal(mean, 1.0)\n"
    "    return q.sample()\nloss = encode(torch.ones(1, 2)).pow(2).sum()\nloss.backward()\n"
)
YIELDED = (
    "def channels(t):\n    for c in t.unbind(0):\n        yield c\ndef scale(t, by):\n    for c, s in zip(channels(t), by):\n"
    "        c.mul_(s)\n    return t\nx = torch.ones(2, 2, requires_grad=True)\ny = scale(x * 1.0, [0.5, 0.25])\n"
)
ROUNDED = (
    "class Quant(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.ones(2))\n"
    "    def forward(self, x):\n        return x * (torch.round(self.w / 0.1).int() * 0.1)\n"
    "net = nn.Sequential(Quant(), Quant())\nloss = net(torch.ones(2)).sum()\nloss.backward()\n"
)
ANGLES = (
    "def reach(angles):\n    total = torch.zeros(())\n    for a in angles:\n        total = total + a.cos()\n    return total\n"
    "angles = [torch.tensor(a / 10) for a in (1.0, 2.0)]\nloss = (reach(angles) - 1) ** 2\nloss.backward()\n"
    "with torch.no_grad():\n    for a in angles:\n        a -= 0.1 * a.grad\n"
)
EXTRACTOR = (
    "net, fixed = nn.Linear(2, 2), nn.Linear(2, 1)\nfor p in fixed.parameters():\n    p.requires_grad = False\ndef loss_of(images):\n"
    "    found = []\n    for image in images:\n        found.append(fixed(torch.from_numpy(image.detach().numpy())))\n"
    "    return torch.stack(found).sum()\nloss = loss_of([net(torch.ones(2))])\nloss.backward()\n"
)
SUPERVISED = (
    "layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))\nopt = torch.optim.SGD(layers.parameters(), lr=0.1)\n"
    "def outs(x):\n    found = []\n    for layer in layers:\n        x = torch.tanh(layer(x))\n        found.append(x)\n    return found\n"
    "for i in range(2):\n    opt.zero_grad()\n    for out in outs(torch.ones(2)):\n        loss = out.sum()\n        loss.backward()\n"
    "    opt.step()\n"
)


@pytest.mark.parametrize(("text", "first", "never"), [
    (PARTS_READ, "`[part.clone() for part in rows.unbind(0)]` on line 7", "torch.stack"),
    (WHOLE_READ, "`x = torch.cat([part / part.norm() for part in x.chunk(2, dim=-1)], dim=-1)` on line 7", "part.clone()"),
    (LONG, "detach it for the second backward: `fake.detach()` on line 15", "line 10"),
    (AGAIN_BY_ITS_NUMBER, "compute with torch, not with numpy, on line 9", "12"),
    (PLAIN_UPDATES, "put lines 12 to 13 in `with torch.no_grad():`", "w1.clone()"),
    (LEAF_LOST_BY_UPDATE, "`w -= 1e-3 * w.grad` on line 10", "w = w"),
    (ONCE, "remove `@once_differentiable` on line 12", "grad_fn"),
    (SECOND_DERIVATIVE, "`create_graph=True` on line 7", "detach"),
    (GATHERED, "gather tensors, not numbers, on line 9, and join them: `torch.cat(rows)` on line 10", "requires_grad"),
    (BOUND, "`rate = self.rate.clamp(min=0.1)` on line 10, `rate` from there on", "did you mean"),
    (META, "use the original instead of a copy: `net` on line 8", "requires_grad"),
    (SPECTRAL, "`.detach()` on line 12", "line 8"),
    (RAW, "put line 10 in `with torch.no_grad():`", "self.raw = "),
    (WINDOWS, "lines 8 to 15 in `with torch.autograd.graph.allow_mutation_on_saved_tensors():`", "clone"),
    (NEIGHBOURS, "`self.queue.clone()`; detach it after each backward: `bank.queue = bank.queue.detach()`", "clear"),
    (HANDED, "`kept.clear()` after line 11", "store values"),
    (ZIPPED, "`image = image.clone()` before line 6, `(image[place] for place in range(len(image)))`", "zip"),
    (ADAPTERS, "remove `.item()` on line 11", "freeze"),
    (TOLD_SO, "`True` on line 10", "leaf"),
    (KEPT, "`out.retain_grad()` before line 7", "is not None"),
    (SET_AGAIN, "make it a leaf again: `.detach().requires_grad_()` on line 12", "is not None"),
    (CACHE, "`cache = [tuple(one.detach() for one in part) for part in cache]`", "empty"),
    (POOL, "`self.fake.detach()` on line 14", "from the sum"),
    (STORED, "repeat line 24 before line 27", "clone"),
    (TOGETHER, "compute with torch, not with numpy, on line 8", "requires_grad"),
    (UNROLLED, "`w = w.detach().requires_grad_()` before line 8", "line 5"),
    (KEYED, '`del policy.saved["logs"][:]` after line', "store values"),
    (REPLAYED, "`memory.clear()` after line", "detach"),
    (FAST, "`w = w - 0.1 * g` on line 10", "no_grad"),
    (INFERRED, "create it under `no_grad` instead of inference mode, on line 6", "clone"),
    (CUT_ON_THE_WAY, "remove `.detach()` on line 7", "x"),
    (PART_FROZEN, "`net.head.requires_grad_()` before line 16", "leaf"),
    (TRUNK, "`total = total + loss` on line 11, `total.backward()` after the loop", "detach"),
    (ACTIVATION, "`net.last = net.last.detach()` before line 15", "store it"),
    (EPOCH, "`total = total.detach()` after line 10", "store values"),
    (WINDOW, "`reader.h = reader.h.detach()` after line 17", "again"),
    (STYLE, "`.detach()` on line 9 and 8", "again"),
    (TARGETS, "compute it again: repeat line 11 before line 16", "run the backward first"),
    (RUNNING, "`net[1].v = net[1].v.detach(); net[1].m = net[1].m.detach()`", "again"),
    (READ_IN_A_FUNCTION, "line 6 before line 12", "net ="),
    (SPARE, "`if p.grad is not None:` around line 9", "leaf"),
    (NO_SUPER, "`super().__init__()` before line 7", "did you mean"),
    (NOT_CALLED, "`x.exp().sum()` on line 6", "did you mean"),
    (VECTOR, "`goal.expand(rows.shape[0], -1)`", "reshape"),
    (MADE_IN_INIT, "`self.w = torch.exp(self.log)` before line 11", "net ="),
    (STATES, "`net.states = [part.detach() for part in net.states]`", "store values"),
    (ACTOR, "`error.detach()` on line 13", "retain_graph"),
    (SHADOW, "put line 10 in `with torch.no_grad():`", "s = s"),
    (DICE, "`torch.sigmoid((p) - (0.5))`", "requires_grad"),
    (MEAN, "remove `.mean(1)` on line 11", "sum_to_size"),
    (REBOUND, "make it a leaf again: `.detach().requires_grad_()` on line 9 and 10", "retain_grad"),
    (NO_GRADIENT_YET, "`if w.grad is not None:` around line 7", "leaf"),
    (NUMBERS, "remove `.item()` on line 7", "tensor("),
    (ONE_LOSS + "loss = loss.detach()\nloss.backward()\n", "remove `loss = loss.detach()` on line 7", "remove `.detach()`"),
    (ONE_LOSS + "print(loss.item().item())\n", "remove `.item()` on line 7", "backward"),
    (ONE_LOSS + "loss.item().backward()\n", "remove `.item()` on line 7", "remove `.backward()`"),
    (CHANGED, "repeat lines 6 and 9 before line 12", "retain_graph"),
    (CRITIC, "`fake.detach()` on line 9", "if it is data"),
    (PENALTY, "`create_graph=True` on line 8", "no_grad"),
    (ROWS, "`g[i]` on line 9", "retain_graph"),
    (GUARDED, "`net.made = None` after line 19", "detach"),
    (DECORATED, "remove `@torch.no_grad()` on line 5", "requires_grad"),
    (SEVERAL, "`[part.sum() for part in losses]`", "ones_like"),
    (QUEUE, "`queue.items = [part.detach() for part in queue.items]`", "empty"),
    (COPIED, "`h.detach()` on line 12", "requires_grad_"),
    (ENCODER, "`code.detach()` on line 12", "on line 11"),
    (CARRIED_VALUE, "`.detach()` on line 14", "line 7 before"),
    (WEIGHTS, "`(torch.randn(2, 2) / n).requires_grad_()` on line 9", "loss"),
    (PLACES, "`place, _` on line 7", "requires_grad"),
    (ACCURACY, '`found["loss"]` on line 9', "sigmoid"),
    (TRANSLATIONS, "`a.detach()` and `b.detach()` on line 11", "leaf"),
    (PLACED, "`x = x + self.places[:n]` on line 12", "no_grad"),
    (SNAPSHOT, "remove `.data` on line 8", "line 6"),
    (DRAWN_BY_A_GENERATOR, "`h = h.detach()` before line 10", "again"),
    (SAMPLED, "write `q.rsample` on line 9", "requires_grad"),
    ("w = torch.rand(4, requires_grad=True)\ntorch.optim.SGD(w, lr=0.1)\n", "give a list: `[w]` on line 6", "did you mean"),
    ("loss = torch.ones(2).mean()\nprint(loss.data.numpy()[0])\n", "take the number: `loss.item()` on line 6", "-1"),
    ("xs = [torch.tensor(1.), torch.tensor(2.)]\ntorch.cat(xs)\n", "numbers are stacked: `torch.stack` on line 6", "dim="),
    ("a, b = torch.ones(5, 2, 1), torch.ones(5, 2)\na + b\n", "`b.unsqueeze(-1)` on line 6", "a.T"),
    ("p = nn.Linear(1, 1)\nwith torch.no_grad():\n    p.weight = p.weight - 0.1\n", "`p.weight.data = p.weight - 0.1`", "another name"),
    ("w = torch.ones(1, requires_grad=True)\nw.mean().backward(torch.tensor([0.1]))\n", "`torch.tensor([0.1]).reshape(())`", "sum()"),
    (OF_A_LEAF, "in `with torch.no_grad():`", "b.requires_grad_"), (FILLED, "`(x * 3).view(-1).clone()` on line 8", "part"),
    (BOUND_ANEW, "`a.sigmoid().clone()`", "compute it again"),
    (YIELDED, "`[t.select(0, place) for place in range(t.shape[0])]` on line 6", "clone"),
    (ROUNDED, "write line 10 so that it has a graph", "remove"),
    (ANGLES, "`torch.tensor(a / 10, requires_grad=True)` on line 10", "total"),
    (EXTRACTOR, "compute with torch, not with numpy, on line 11", "stack"),
    (SUPERVISED, "`total = total + loss` on line 17, `total.backward()` after the loop", "detach"),
    (HOOKED, "remove `.detach()` on line 7", "requires_grad"),
    (HOOKED_LIST, "remove `.detach()` on line 11", "requires_grad"),
    (RESIDUAL, "`torch.rand(4, 1, requires_grad=True)` on line 9", "x"),
    (NOISED, "compute with torch, not with numpy, on line 10", "requires_grad"),
    (SCAN, "copy what line 7 saves: `a.clone()`; copy what line 5 saves", "detach"),
])
def test_the_first_fix_works_and_none_ends_the_learning(text: str, first: str, never: str) -> None:
    session = Session()
    session.run(HEAD + text, lambda event: None, name="program")
    assert session.state.failed is not None
    words = [fix.words for fix in session.tried(session.state.failed).problem.fixes if fix.tried]
    assert first in words[0]
    assert not [one for one in words if never in one]


def test_a_write_at_the_top_level_may_be_part_of_what_follows() -> None:
    session = Session()
    session.run(HEAD + "foo = torch.ones(4).requires_grad_()\nbar = foo[2:]\nbar *= 10\n", lambda event: None, name="program")
    assert session.state.failed is not None
    words = [fix.words for fix in session.tried(session.state.failed).problem.fixes if fix.tried]
    assert [one.rpartition(": ")[2] for one in words[1:]] == ["`bar = bar * 10` on line 7"]
    assert "no_grad" in words[0]


def test_a_leaf_that_a_parameter_gave_is_looked_for_where_the_call_stands() -> None:
    session = Session()
    fill = "def fill(e):\n    e[0] = 1\n    e = e * 2\nnet = nn.Linear(2, 2)\nfill(net.weight)\n"
    session.run(HEAD + fill, lambda event: None, name="program")
    assert session.state.failed is not None
    assert [one.span.line for one in session.state.failed.problem.labels if one.role == "built"] == [8]


def test_another_leaf_than_what_the_optimizer_has_is_not_to_be_learnt() -> None:
    session = Session()
    session.run(HEAD + DRAWN, lambda event: None, name="program")
    assert session.state.failed is not None
    problem = session.tried(session.state.failed).problem
    assert not [fix.words for fix in problem.fixes if fix.edits]
    assert {label.span.line for label in problem.labels if label.role == "built"} == {9}


def test_a_gradient_that_is_dropped_and_the_loss_itself_are_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixes of a larger program are told before they are tried."""
    monkeypatch.setattr("gradsh.session.session.FEW_NODES", -1)
    session = Session()
    loop = "for i in range(2):\n    w.grad = None\n    loss.backward()\n    w.data += -0.1 * w.grad\n"
    session.run(HEAD + "w = torch.ones(2, requires_grad=True)\nloss = (w ** 2).sum()\n" + loop, lambda event: None, name="program")
    assert session.state.failed is not None
    assert not session.state.failed.tried
    words = [fix.words for fix in session.state.failed.problem.fixes]
    assert "compute it again in each iteration" in words[0]
    assert not [one for one in words if "detach" in one]
