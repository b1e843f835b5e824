"""A plan equals what then happens: nodes run, buffers freed and kept, bytes given back, leaves written, or the failure."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gradsh
from gradsh.contracts.events import Failure, Result
from gradsh.probe.passes import PassReport
from gradsh.session.session import Session
from tests.sweep import draws

OPERATIONS = (
    "{a} * {b}", "{a} + {b}", "{a} - {b} * 2", "{a}.exp()", "{a}.sin()", "{a}.tanh() * {b}", "{a}.relu()", "{a} / ({b} + 9)",
    "({a} @ {b})", "{a}.t() + {b}", "{a}.detach() * {b}", "{a}.sum() * {b}", "{a}.view(9).view(3, 3)", "{a}[0] * {b}",
    "{a}.pow(2)", "torch.cat([{a}, {b}])[:3]", "{a} * {a}", "{a}.chunk(3)[1] + {b}", "{a}.softmax(0)",
)
ACTIONS = (
    "backward {r}", "backward {r} --retain", "retain {r}", "release", "{r} = {r} * 2", "del {r}", "{r}.add_(1)", "{r} = {r}.detach()",
    "backward {r} {s}", "backward {r} --inputs x", "{r}.sum().backward()", "x.grad = None", "x[0] *= 2", "hidden = [{r}.exp()]",
    "{r}.retain_grad()", "backward {r} --inputs {s}", "release {r} --free", "kept = (lambda v: (lambda: v))({r})", "{r}.data.mul_(2)",
)


@st.composite
def programs(draw):
    lines = ["x = ones(3, 3, requires_grad=True)", "w = full((3, 3), 2., requires_grad=True)", "c = ones(3, 3)"]
    names = ["x", "w", "c"]
    for i in range(draw(st.integers(1, 7))):
        a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        lines.append(f"n{i} = " + draw(st.sampled_from(OPERATIONS)).format(a=a, b=b))
        names.append(f"n{i}")
    roots = []
    for i in range(draw(st.integers(1, 3))):
        lines.append(f"r{i} = {draw(st.sampled_from(names[3:]))}.sum()")
        roots.append(f"r{i}")
    lines += [f"del {name}" for name in draw(st.lists(st.sampled_from(names[3:]), unique=True))]
    for _ in range(draw(st.integers(1, 6))):
        action = draw(st.sampled_from(ACTIONS))
        lines.append(action.format(r=draw(st.sampled_from(roots)), s=draw(st.sampled_from(roots + names[3:]))))
    return lines


def ran(session, line):
    events = []
    session.run(line, events.append, keep_going=True)
    result = next((event.report for event in events if isinstance(event, Result)), None)
    failure = next((event for event in events if isinstance(event, Failure)), None)
    return result, failure


def check(lines):
    session = Session()
    for line in lines:
        if not line.startswith("backward"):
            ran(session, line)
            continue
        before = ran(session, f"print(x.grad, x._version, live_bytes())\n{line} --plan")[0]
        plan, refused = ran(session, line + " --plan")
        assert plan == before  # asking changed nothing
        done, failure = ran(session, line)
        if plan is None:  # the arguments themselves are wrong
            assert refused.problem.kind == failure.problem.kind
            continue
        if failure is not None:
            assert plan.failure is not None, failure.problem
            assert plan.failure.kind == failure.problem.kind
            assert plan.failure.message == failure.problem.message
        else:
            assert plan.failure is None
            assert isinstance(done, PassReport)
            assert plan.would == done


@settings(max_examples=draws(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_plan_is_what_happens(lines):
    check(lines)


@pytest.mark.parametrize("hold", ["", "other = y * y", "keep = (lambda v: (lambda: v))(y.exp())", "v = y[0]", "del y"])
def test_bytes_given_back_are_given_back(hold):
    gc.disable()
    try:
        session = Session()
        ran(session, f"x = ones(50, 50, requires_grad=True)\ny = x.exp()\nz = y.sin().sum()\n{hold}")
        node = session.machine.program["z"].grad_fn.next_functions[0][0].next_functions[0][0]
        memory = weakref.ref(node.saved[0].array)
        del node
        plan = ran(session, "plan z")[0]
        done = ran(session, "backward z")[0]
        assert plan.would == done
        assert (memory() is None) == (plan.would.gave_back == 10_000)
        assert plan.would.gave_back == (10_000 if hold == "del y" else 0)
    finally:
        gc.enable()


def test_an_array_over_memory_that_is_no_arrays_is_given_back():
    session = Session()
    ran(session, "x = ones(4, requires_grad=True)")
    session.machine.program["data"] = gradsh.from_numpy(np.frombuffer(bytes(16), np.float32))
    ran(session, "z = (x * data).sum()\ndel data")
    assert ran(session, "plan z")[0].would.gave_back == ran(session, "backward z")[0].gave_back == 16


def test_modified_tensor_is_foreseen_with_its_line():
    session = Session()
    ran(session, "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny.add_(1)")
    plan = ran(session, "plan z")[0]
    assert plan.failure.kind == "version"
    assert plan.failure.saved_line == 3
    assert plan.failure.modified_lines == (4,)
    assert plan.would.ran == 1


def test_what_is_kept_counts_each_memory_once():
    session = Session()
    ran(session, "x = ones(50, 50, requires_grad=True)\nz = x.exp().sin().sum()")  # exp's result is what sin saved, too
    pin = ran(session, "retain z")[0]
    assert pin.pins[0].nbytes == 10_000
    plan = ran(session, "plan z")[0]
    done = ran(session, "backward z")[0]
    assert plan.would == done
    assert (sum(one.nbytes for one in done.kept), done.kept_in) == (20_000, 10_000)
