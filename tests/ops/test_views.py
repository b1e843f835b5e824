"""Views and writes in place: what shares memory, versions and history; against PyTorch where it is installed."""

import numpy as np
import pytest
from ops_namespace import torch

from gradsh.engine.ambient import grad_mode
from gradsh.engine.autograd.backward import backward
from gradsh.text.fault import fault_of


def ones(*size, grad=True):
    return torch.ones(*size, requires_grad=grad)


def names(node):
    return [None if to is None else to.name() for to, _ in node.next_functions]


def test_base_views_and_detached_twins_share_a_version_counter():
    x = torch.zeros(2, 6)
    view, twin, data = x.view(3, 4), x.detach(), x.data
    view[0].add_(1)
    assert (x._version, view._version, twin._version, data._version) == (1, 1, 1, 0)
    data.mul_(2)
    assert (x._version, data._version) == (1, 1)
    assert view[0]._base is x
    assert twin._base is None


@pytest.mark.parametrize("write", ["v.mul_(3)", "v.copy_(torch.zeros(2))", "v.fill_(1.0)", "h[0:2] = 5.0"])
def test_a_write_into_a_view_becomes_the_history_of_its_base(write):
    h = ones(3) * 2
    v = h[0:2]
    exec(write, {"v": v, "h": h, "torch": torch})
    assert h.grad_fn.name() == "torch::autograd::CopySlices"
    assert names(h.grad_fn)[0] == "MulBackward0"
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert names(v.grad_fn) == ["torch::autograd::CopySlices"]


def test_a_write_into_the_base_makes_the_histories_of_views_anew():
    x = ones(3)
    h = x * 2
    v = h[0:2]
    h.mul_(3)
    assert names(v.grad_fn) == ["MulBackward0"]
    v.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 0.0]


@pytest.mark.parametrize("make", ["h.t()", "h[1:]", "h.unsqueeze(1)[::2]"])
def test_gradients_through_writes_into_views_of_a_transposed_base(make):
    x = ones(4, 3)
    h = x.t().clone()
    v = eval(make, {"h": h})
    v.mul_(3)
    (h * torch.arange(12.0).view(3, 4)).sum().backward()
    expected = torch.arange(12.0).view(3, 4)
    eval(make, {"h": expected}).mul_(3)
    assert x.grad.t().tolist() == expected.tolist()


REFUSED = [
    ("a, b = h.split(3)\na.mul_(2)", "view_inplace", "This view is the output of a function that returns multiple views."),
    ("a, b = h.view(2, 3).unbind()\nb.mul_(2)", "view_inplace", "Output 1 of Unbind is a view and is being modified inplace."),
    ("x[0].add_(1)", "leaf_inplace", "a view of a leaf Variable that requires grad is being used in an in-place operation."),
    ("x.add_(1)", "leaf_inplace", "a leaf Variable that requires grad is being used in an in-place operation."),
    ("x[0] = 5.0", "leaf_inplace", "a view of a leaf Variable that requires grad"),
    ("h.expand(2, 6).add_(1)", "other", "more than one element of the written-to tensor refers to a single memory location"),
    ("h[1:].add_(h[:-1])", "other", "some elements of the input tensor and the written-to tensor refer to a single memory location"),
    ("h[0:2].detach_()", "view_inplace", "Can't detach views in-place. Use detach() instead."),
]


@pytest.mark.parametrize(("code", "kind", "sentence"), REFUSED, ids=[code for code, _, _ in REFUSED])
def test_writes_that_autograd_cannot_follow_are_refused(code, kind, sentence):
    x = ones(6)
    with pytest.raises(RuntimeError) as caught:
        exec(code, {"x": x, "h": x * 1})
    assert sentence in str(caught.value)
    assert fault_of(caught.value).kind == kind


def test_a_view_made_without_recording_may_not_be_written_while_recording():
    h = ones(3) * 1
    with grad_mode(False):
        v = h[0:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        v.mul_(2)
    with grad_mode(False):
        v.mul_(2)
    assert h.tolist() == [2.0, 2.0, 1.0]


def test_pieces_of_tensor_split_may_be_written():
    h = ones(6) * 1
    a, _ = h.tensor_split(2)
    a.mul_(2)
    assert h.grad_fn.name() == "torch::autograd::CopySlices"


def test_in_place_geometry_counts_as_a_write_and_keeps_the_history():
    x = ones(2, 3)
    h = x * 2
    h.t_()
    assert (h.grad_fn.name(), h._version, tuple(h.shape)) == ("TBackward1", 1, (3, 2))
    base = x * 2
    v = base.view(-1)
    v.unsqueeze_(0)
    assert (v.grad_fn.name(), base.grad_fn.name()) == ("UnsqueezeBackward1", "MulBackward0")


def test_the_message_names_the_present_history_of_what_was_modified():
    h = ones(3) * 2
    y = (h * h).sum()
    h.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of Add, is at version 1; expected version 0 instead"):
        backward((y,))


def test_a_gradient_of_an_overlapping_view_adds_up():
    x = ones(5)
    x.as_strided((3, 3), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]
    assert np.array_equal(torch.ones(6).unfold(0, 3, 1).array, np.ones((4, 3)))


@pytest.mark.parity
@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_programs_behave_as_in_pytorch(start):
    pytest.importorskip("torch")
    from view_programs import program, run

    for seed in range(start, start + 20):
        statements = program(seed, 7)
        found = run(statements)
        assert found is None, "\n".join([*statements, f"=> {found[0]}: {found[1]}"])
