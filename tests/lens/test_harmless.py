"""A program under the lens does what it does without: nothing is kept alive, no number changes, every hook is taken away."""

import gc
import weakref

import pytest

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

from gradsh import lens  # noqa: E402


def train(steps: int = 6) -> list[torch.Tensor]:
    """Train a net with dropout and a batch norm; return all that a run leaves behind."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(inplace=True), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = net(torch.randn(16, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(one.detach().clone() for one in net.state_dict().values()), torch.get_rng_state(), torch.tensor(
        [one._version for one in net.parameters()])]


def test_a_training_run_is_the_same_bit_for_bit() -> None:
    plain = train()
    with lens.watching():
        watched = train()
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))
    lens.stop()


def test_everything_is_put_back() -> None:
    def state() -> tuple[object, ...]:
        return (
            dict(vars(torch.Tensor)), {name: vars(torch).get(name) for name in dir(torch) if name.endswith("_")},
            torch.autograd._engine_run_backward, torch.autograd.graph._engine_run_backward,
            torch.nn.Module.__call__, torch.autograd.backward, dict(torch.jit._builtins._get_builtin_table()),
        )

    before = state()
    lens.start()
    assert state() != before
    lens.stop()
    assert state() == before


def test_nothing_is_kept_alive() -> None:
    def work() -> tuple[object, ...]:
        x = torch.ones(3, requires_grad=True)
        y = (x * 2).exp()
        z = (y * y).sum()
        for look in (lens.graph(z), lens.buffers(z), lens.plan(z), lens.holders(y), lens.memory(), lens.leaks(), lens.why(z)):
            assert repr(look)
        z.backward()
        with pytest.raises(RuntimeError):
            z.backward()
        assert lens.buffers(z).totals.freed == 4
        return weakref.ref(x), weakref.ref(y), weakref.ref(z)

    lens.start()
    try:
        held = work()
        gc.collect()
        assert [one() for one in held] == [None, None, None]
    finally:
        lens.stop()


def test_looking_runs_no_unpack_hook_and_changes_no_version() -> None:
    unpacked = []

    def unpack(packed: torch.Tensor) -> torch.Tensor:
        unpacked.append(packed)
        return packed

    lens.start()
    try:
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), unpack):
            z = x.exp().exp().sum()
        versions = x._version, z._version
        assert {row.state for row in lens.buffers(z).rows} == {"packed"}
        assert repr(lens.graph(z))
        assert lens.plan(z).failure is None
        assert not unpacked
        assert (x._version, z._version) == versions
        z.backward()
        assert len(unpacked) == 2
    finally:
        lens.stop()


def test_hooks_that_were_set_before_the_watcher_began() -> None:
    unpacked: list[torch.Tensor] = []
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), lambda one: unpacked.append(one) or one):
        before = x.exp().sum()
        lens.start()
        try:
            within = x.exp().sum()
            for loss in (before, within):
                assert {row.state for row in lens.buffers(loss).rows} == {"packed"}
        finally:
            lens.stop()
    assert not unpacked


class Inner(torch.nn.Module):
    """A module of a program's own within one of PyTorch's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.relu(x * 2, inplace=True)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:FutureWarning")
def test_compilers_find_the_program_alone() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), Inner())

    def work(x: torch.Tensor, rates: list[torch.Tensor]) -> torch.Tensor:
        y = torch.sin_(net(x).clone()).add_(1)
        torch._foreach_add_(rates, [y, y], alpha=0.5)
        return torch.add(y, 1, out=y) + rates[0]

    def compiled() -> list[str]:
        torch._dynamo.reset()
        graphs: list[str] = []

        def backend(graph: torch.fx.GraphModule, _: object) -> object:
            graphs.append(graph.code)
            return graph.forward

        with torch.no_grad():
            torch.compile(work, backend=backend, fullgraph=True)(torch.ones(2, 3), [torch.zeros(2, 3), torch.zeros(2, 3)])
            torch.compile(net, backend=backend, fullgraph=True)(torch.ones(2, 3))
        return [*graphs, str(torch.jit.script(net).inlined_graph)]

    plain = compiled()
    with lens.watching():
        watched = compiled()
    lens.stop()
    assert watched == plain
