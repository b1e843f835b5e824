"""Random programs about graphs: operations, writes in place, views, hooks, passes, blocks; most of them fail somewhere."""

import random

SHAPES = ("(3,)", "(2, 3)", "(2, 2)", "()", "(2, 1, 3)")
BINARY = (
    "{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / ({b}.abs() + 1)", "{a} @ {b}", "torch.cat([{a}.reshape(-1), {b}.reshape(-1)])",
)
UNARY = (
    "{a} ** 2", "{a}.exp()", "{a}.tanh()", "{a}.sigmoid()", "torch.relu({a})", "{a} * 3.0", "{a} + 1", "-{a}", "{a}.detach()",
    "{a}.clone()",
    "{a}.sum()", "{a}.mean()", "{a}.view(-1)", "{a}.t()", "{a}[0]", "{a}[..., 0]", "{a}[:1]", "{a}.unsqueeze(0)", "{a}.squeeze()",
    "{a}.expand(2, *{a}.shape)", "{a}.unbind(0)[0]", "{a}.chunk(2)[0]", "torch.stack([{a}, {a}])", "{a}.max()", "{a}.softmax(-1)",
    "{a}.sum(0)", "{a}.data", "torch.where({a} > 0, {a}, {a} * 0)", "{a}.clamp(min=0)", "{a}.norm()", "{a}.cumsum(0)", "{a}.prod()",
    "{a}.masked_fill({a} > 0, 1.)", "{a}.transpose(0, -1)", "{a}.grad", "{a}[{a} > 0]", "torch.nn.functional.dropout({a}, 0.5)",
)
WRITES = (
    "{a} += {b}", "{a} *= 2", "{a}.mul_({b})", "{a}.exp_()", "{a}.relu_()", "{a}.zero_()", "{a}[0] = 1.", "{a}[0] = {b}", "{a}[:1] *= 2",
    "{a}.copy_({b})", "{a}.data += 1", "{a}.detach().add_(1)", "{a}.detach_()", "{a}.unsqueeze_(0)", "{a}.requires_grad_()",
    "{a}[{a} > 0] = 0", "{a}.requires_grad = False", "{a}.grad = None",
)
PASSES = (
    "{a}.sum().backward()", "{a}.backward()", "{a}.sum().backward(retain_graph=True)", "{a}.backward(torch.ones_like({a}))",
    "{a}.pow(2).sum().backward(create_graph=True)", "torch.autograd.backward([{a}.sum(), {b}.sum()])", "{a}.sum().backward(inputs=[{b}])",
    "{n} = torch.autograd.grad({a}.sum(), {b}, allow_unused=True)[0]", "{n} = torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0]",
)
QUESTIONS = (
    "{a}.retain_grad()", "{a}.register_hook(lambda g: g * 2)", "print({a})", "print({a}.grad)", "del {a}", "{a} = {b}",
    "print({a}.grad_fn, {a}._version, {a}.is_leaf, {a}.requires_grad)",
)
BLOCKS = ("with torch.no_grad():", "for i in range(2):", "try:", "with torch.enable_grad():", "if {a}.sum() > 0:")
CATCH = ("except (RuntimeError, IndexError) as e:", "    print(e)")


class Program:
    """One program being written; the same seed writes the same text."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = ["import torch", f"torch.manual_seed({seed})"]
        self.names: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            self.leaf()

    def new(self) -> str:
        """Return a fresh name, which later statements may use whether or not it came to be bound."""
        self.names.append(f"v{len(self.names) + 1}")
        return self.names[-1]

    def filled(self, pattern: str) -> str:
        """Return a pattern with names put in, mostly recent ones."""
        recent = self.names[-6:]
        a, b = self.random.choice(recent), self.random.choice(recent)
        return pattern.format(a=a, b=b, n=self.new() if "{n}" in pattern else "")

    def leaf(self) -> None:
        """Make a leaf, mostly one that needs a gradient."""
        shape, flag = self.random.choice(SHAPES), self.random.random() < 0.75
        self.lines.append(f"{self.new()} = torch.randn({shape}, requires_grad={flag})")

    def statement(self, indent: str = "") -> None:
        """Add one statement."""
        kind = self.random.random()
        if kind < 0.5:
            pattern = self.random.choice(BINARY if self.random.random() < 0.25 else UNARY)
            text = self.filled(pattern)
            text = f"{self.new()} = {text}"
        else:
            text = self.filled(self.random.choice(WRITES if kind < 0.7 else PASSES if kind < 0.86 else QUESTIONS))
        self.lines.append(indent + text)

    def block(self) -> None:
        """Add a block of a few statements."""
        head = self.filled(self.random.choice(BLOCKS))
        self.lines.append(head)
        for _ in range(self.random.randint(1, 3)):
            self.statement("    ")
        if head == "try:":
            self.lines += CATCH


def program(seed: int) -> str:
    """Return the program of a seed."""
    made = Program(seed)
    for _ in range(made.random.randint(6, 14)):
        made.block() if made.random.random() < 0.18 else made.statement()
    return "\n".join(made.lines) + "\n"
