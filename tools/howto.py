"""The how-to pages: one for each message of PyTorch, with an example that raises it, what it means and the fixes.

The meaning and the fixes are those of the kind of error (`gradsh/text/kinds_*.py`); here are the messages and their examples.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from gradsh.commands.explain import EXPLAINED
from gradsh.text.kind import Kind
from gradsh.text.kinds import KINDS, kinds_for
from gradsh.text.messages import MESSAGES
from tools.sessions import session_of

_LEAF = "x = torch.ones(2, requires_grad=True)\n"
_OPEN = "a = torch.ones(2, 3)\n"


class Symptom(NamedTuple):
    """A page: its file name, the message as people search for it, the script that raises it."""

    slug: str
    message: str
    example: str

    @property
    def kind(self) -> Kind:
        """The kind of error that the message belongs to."""
        return EXPLAINED[kinds_for(self.message)[0]]


SYMPTOMS = (
    Symptom("backward-a-second-time", "Trying to backward through the graph a second time", KINDS["freed"].example),
    Symptom("modified-by-an-inplace-operation", KINDS["version"].sentences[0], KINDS["version"].example),
    Symptom("does-not-require-grad", "element 0 of tensors does not require grad and does not have a grad_fn",
            KINDS["no_grad"].example),
    Symptom("retain-grad-without-grad", "can't retain_grad on Tensor that has requires_grad=False",
            "x = torch.ones(2)\nx.retain_grad()\n"),
    Symptom("hook-without-grad", "cannot register a hook on a tensor that doesn't require gradient",
            "x = torch.ones(2)\nx.register_hook(print)\n"),
    Symptom("differentiated-tensor-does-not-require-grad", "One of the differentiated Tensors does not require grad",
            f"{_LEAF}w = torch.ones(2)\nloss = (w * x).sum()\ntorch.autograd.grad(loss, w)\n"),
    Symptom("only-scalar-outputs", "grad can be implicitly created only for scalar outputs", KINDS["scalar"].example),
    Symptom("mismatch-in-shape-grad-output", "Mismatch in shape: grad_output[0] has a shape of", KINDS["grad_shape"].example),
    Symptom("assign-a-gradient-of-size", "attempting to assign a gradient of size", f"{_LEAF}x.grad = torch.ones(3)\n"),
    Symptom("leaf-variable-in-place", "a leaf Variable that requires grad is being used in an in-place operation.",
            KINDS["leaf_inplace"].example),
    Symptom("view-of-a-leaf-in-place", "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            f"{_LEAF}x[0] = 5.0\n"),
    Symptom("view-modified-inplace", "is a view and is being modified inplace. This view is the output of a function that returns "
            "multiple views.", KINDS["view_inplace"].example),
    Symptom("view-created-in-no-grad", "A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
            f"{_LEAF}y = x * 1\nwith torch.no_grad():\n    v = y[:1]\n\nv.mul_(2)\n"),
    Symptom("change-requires-grad-of-non-leaf", "you can only change requires_grad flags of leaf variables.", KINDS["not_leaf"].example),
    Symptom("optimize-a-non-leaf", "can't optimize a non-leaf Tensor", f"{_LEAF}y = x * 2\noptimizer = torch.optim.SGD([y], lr=0.1)\n"),
    Symptom("deepcopy-of-a-non-leaf", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
            f"import copy\n{_LEAF}y = x * 2\ncopy.deepcopy(y)\n"),
    Symptom("call-numpy-on-tensor-that-requires-grad", MESSAGES["numpy"].sentences[0], MESSAGES["numpy"].example),
    Symptom("grad-of-a-non-leaf", MESSAGES["non_leaf_grad"].sentences[0], MESSAGES["non_leaf_grad"].example),
    Symptom("returned-nan-values", "Function 'SqrtBackward0' returned nan values in its 0th output.", MESSAGES["nan"].example),
    Symptom("not-used-in-the-graph", "The differentiated Tensor at index 0 appears to not have been used in the graph.",
            KINDS["unused"].example),
    Symptom("only-floating-point-can-require-gradients", "only Tensors of floating point and complex dtype can require gradients",
            KINDS["dtype"].example),
    Symptom("same-dtype", "expected m1 and m2 to have the same dtype",
            "a = torch.ones(2, 2)\nb = torch.ones(2, 2, dtype=torch.float64)\na @ b\n"),
    Symptom("result-type-cannot-be-cast", "result type Float can't be cast to the desired output type",
            "n = torch.tensor([1, 2])\nn += 0.5\n"),
    Symptom("could-not-infer-output-dtype", "mean(): could not infer output dtype.", "torch.tensor([1, 2]).mean()\n"),
    Symptom("size-of-tensor-must-match", "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
            KINDS["shape"].example),
    Symptom("shapes-cannot-be-multiplied", "mat1 and mat2 shapes cannot be multiplied",
            "net = nn.Linear(4, 2)\nx = torch.ones(5, 3)\nnet(x)\n"),
    Symptom("shape-is-invalid", "shape '[...]' is invalid for input of size", f"{_OPEN}a.view(4, 2)\n"),
    Symptom("sizes-must-match-except", "Sizes of tensors must match except in dimension 0.",
            f"{_OPEN}b = torch.ones(2, 4)\ntorch.cat([a, b])\n"),
    Symptom("stack-expects-equal-size", "stack expects each tensor to be equal size",
            f"{_OPEN}b = torch.ones(2, 4)\ntorch.stack([a, b])\n"),
    Symptom("batch-size-must-match", "Expected input batch_size to match target batch_size",
            "scores = torch.ones(4, 3)\nclasses = torch.tensor([0, 1])\nF.cross_entropy(scores, classes)\n"),
    Symptom("index-out-of-bounds", "index 2 is out of bounds for dimension 0 with size 2", KINDS["index"].example),
    Symptom("dimension-out-of-range", "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
            "x = torch.ones(2)\nx.sum(dim=1)\n"),
    Symptom("too-many-indices", "too many indices for tensor of dimension 1", "x = torch.ones(2)\nx[0, 0]\n"),
    Symptom("nonetype-has-no-attribute", "'NoneType' object has no attribute", f"{_LEAF}x.grad.norm()\n"),
    Symptom("tensor-has-no-attribute", "'Tensor' object has no attribute", KINDS["attribute"].example),
    Symptom("tensor-is-not-callable", "'Tensor' object is not callable", "loss = torch.ones(())\nloss()\n"),
    Symptom("unexpected-keyword-argument", "got an unexpected keyword argument", KINDS["type"].example),
    Symptom("boolean-value-is-ambiguous", "Boolean value of Tensor with more than one value is ambiguous", KINDS["value"].example),
    Symptom("cannot-be-converted-to-scalar", "a Tensor with 2 elements cannot be converted to Scalar", "x = torch.ones(2)\nx.item()\n"),
    Symptom("optimizer-empty-parameter-list", "optimizer got an empty parameter list", "optimizer = torch.optim.SGD([], lr=0.1)\n"),
)
"""In the order of the kinds."""
INDEX = """# How to fix an error

Find the message that PyTorch printed. Each page shows an example that raises it, what it means and how to fix it. For the lines of
your own program, run `gradsh trace PROGRAM.py`; `gradsh explain "MESSAGE"` prints the explanation in a terminal.

For `CUDA out of memory` and other limits of memory, see [Out of memory? Start here](../out-of-memory.md).
For gradients that are wrong without an error, see [mistakes that raise no error](../reference/errors.md#silent).

| message | page |
| --- | --- |
"""


def howto_pages(golden: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of each page and of their index; `golden` runs a script and returns it with its output."""
    golden = cache(golden)
    yield "index.md", INDEX + "".join(f"| {one.message} | [{one.kind.summary}]({one.slug}.md) |\n" for one in SYMPTOMS)
    for symptom in SYMPTOMS:
        yield f"{symptom.slug}.md", "\n".join(_page(symptom, golden))


def _page(symptom: Symptom, golden: Callable[[str], str]) -> Iterator[str]:
    kind = symptom.kind
    summary = kind.summary[0].upper() + kind.summary[1:]
    yield f"# {symptom.message}\n"
    yield f"{summary}. {kind.meaning}\n"
    yield "## Example\n"
    session = session_of(symptom.example)
    yield session
    if "\n  help: " in session:
        yield "The lines marked `help` are fixes for this example.\n"
    yield "## Fixes\n"
    for way in kind.ways:
        yield f"{way.text}\n"
        yield golden(way.script)
    others = [sentence for sentence in kind.sentences if not sentence.startswith(symptom.message)]
    if others:
        yield "Messages of the same kind:\n"
        yield "\n".join(f"> {sentence}  " for sentence in others) + "\n"
    yield "## In your own program\n"
    yield ("`gradsh trace PROGRAM.py` runs the program on PyTorch and prints this explanation with its lines. "
           f"Reference: [kind `{kind.name}`](../reference/errors.md#{kind.name}), [terms](../glossary.md).\n")
