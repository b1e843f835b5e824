"""The kinds of errors that autograd and tensors have: saved tensors, gradients, leaves, views, dtypes, shapes."""

from gradsh.text.kind import Kind, Recipe

FREED = Kind(
    "freed",
    "a backward needs a saved tensor that an earlier backward freed",
    (
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).",
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().",
        (
            "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
            "after calling backward."
        ),
        "Trying to backward through the graph a second time, but the buffers have already been freed",
    ),
    "The forward saves in each node the tensors that its derivative needs (pow its base, mul both factors, add none)."
    " A backward frees the saved tensors of a node right after it ran the node. A second backward through the same node finds"
    " them freed and fails. Nodes that save nothing can run any number of times, which is why only some scripts fail.",
    "x = torch.ones(2, requires_grad=True)\n"
    "y = x.pow(2)\n"
    "loss = y.sum()\n"
    "loss.backward()\n"
    "loss.backward()\n",
    (
        Recipe(
            "Keep the buffers in every backward but the last.",
            "x = torch.ones(2, requires_grad=True)\n"
            "loss = x.pow(2).sum()\n"
            "loss.backward(retain_graph=True)\n"
            "loss.backward()\n",
        ),
        Recipe(
            "Add the losses and call backward once.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x.pow(2)\n"
            "first, second = y.sum(), (3 * y).sum()\n"
            "(first + second).backward()\n",
        ),
        Recipe(
            "Run the forward again in each iteration: move it into the loop.",
            "x = torch.ones(2, requires_grad=True)\n"
            "for step in range(2):\n"
            "    loss = x.pow(2).sum()\n"
            "    loss.backward()\n",
        ),
        Recipe(
            "Detach what one iteration carries to the next, such as a hidden state.",
            "w = torch.ones(2, requires_grad=True)\n"
            "hidden = torch.zeros(2)\n"
            "for step in range(2):\n"
            "    hidden = torch.tanh(w * hidden.detach() + 1)\n"
            "    hidden.sum().backward()\n",
        ),
        Recipe(
            "Pin the part that several backwards share; the rest is freed as usual (gradsh only).",
            "x = torch.ones(2, requires_grad=True)\n"
            "trunk = x.pow(2)\n"
            "retain trunk\n"
            "trunk.exp().sum().backward()\n"
            "trunk.sin().sum().backward()\n"
            "release trunk\n",
        ),
    ),
)

VERSION = Kind(
    "version",
    "a tensor that the backward needs was modified in place after it was saved",
    ("one of the variables needed for gradient computation has been modified by an inplace operation",),
    "Each storage counts the in-place writes to it. A tensor, its views and its detached copies share this version. A node"
    " records the version when it saves a tensor, and backward compares: a derivative computed from other values than"
    " the forward's would be wrong without a word.",
    "x = torch.ones(2, requires_grad=True)\n"
    "y = x * 2\n"
    "z = y.pow(2).sum()\n"
    "y.add_(1)\n"
    "z.backward()\n",
    (
        Recipe(
            "Write the operation out of place: it makes a new tensor and does not change the saved one.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 2\n"
            "z = y.pow(2).sum()\n"
            "y = y + 1\n"
            "z.backward()\n",
        ),
        Recipe(
            "Clone the tensor that will be modified.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 2\n"
            "z = y.clone().pow(2).sum()\n"
            "y.add_(1)\n"
            "z.backward()\n",
        ),
        Recipe(
            "Run the backward first and modify afterwards. (An optimizer's step is a modification too.)",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 2\n"
            "z = y.pow(2).sum()\n"
            "z.backward()\n"
            "y = y.detach().add_(1)\n",
        ),
    ),
)

NO_GRAD = Kind(
    "no_grad",
    "the tensor has no graph: nothing that it was computed from requires grad",
    (
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "can't retain_grad on Tensor that has requires_grad=False",
        "cannot register a hook on a tensor that doesn't require gradient",
        "One of the differentiated Tensors does not require grad",
    ),
    "A tensor has a graph only if it was computed from a leaf with requires_grad=True, with recording turned on. detach,"
    " .data, .item(), a block under no_grad, a comparison, argmax or rounding to integers end the graph.",
    "x = torch.ones(2)\n"
    "loss = x.pow(2).sum()\n"
    "loss.backward()\n",
    (
        Recipe(
            "Set requires_grad on the leaf before the forward.",
            "x = torch.ones(2, requires_grad=True)\n"
            "loss = x.pow(2).sum()\n"
            "loss.backward()\n",
        ),
        Recipe(
            "Compute the loss outside no_grad.",
            "x = torch.ones(2, requires_grad=True)\n"
            "with torch.no_grad():\n"
            "    scale = x.sum()\n"
            "loss = (x * scale).sum()\n"
            "loss.backward()\n",
        ),
    ),
)

SCALAR = Kind(
    "scalar",
    "backward from a tensor of several elements needs a gradient argument",
    ("grad can be implicitly created only for scalar outputs",),
    "A backward computes the product of a vector with the Jacobian. For one element the vector is 1; for more there is no"
    " natural choice, and it has to be given.",
    "x = torch.ones(2, requires_grad=True)\n"
    "y = x * 3\n"
    "y.backward()\n",
    (
        Recipe(
            "Reduce to one number first.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 3\n"
            "y.sum().backward()\n",
        ),
        Recipe(
            "Pass a gradient; ones give the gradient of the sum.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 3\n"
            "y.backward(torch.ones(2))\n",
        ),
    ),
)

GRAD_SHAPE = Kind(
    "grad_shape",
    "a gradient does not have the shape of its tensor",
    (
        "Mismatch in shape: grad_output[0] has a shape of",
        "attempting to assign a gradient of size",
        "assigned grad has data of a different size",
        "hook '...' has changed the size of value",
    ),
    "A gradient has the shape of its tensor: the argument of backward has the shape of the output; a value assigned to .grad,"
    " or returned by a hook, has the shape of the tensor there.",
    "x = torch.ones(2, requires_grad=True)\n"
    "y = x * 3\n"
    "y.backward(torch.ones(3))\n",
    (
        Recipe(
            "Make the gradient with the shape of the output.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 3\n"
            "y.backward(torch.ones_like(y))\n",
        ),
    ),
)

LEAF_INPLACE = Kind(
    "leaf_inplace",
    "a leaf that requires grad is modified in place",
    (
        "a leaf Variable that requires grad is being used in an in-place operation.",
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
    ),
    "Backward writes gradients to leaves. After an in-place operation the leaf would be the result of that operation, and no"
    " longer a leaf; the value that the gradient refers to would be overwritten.",
    "w = torch.ones(2, requires_grad=True)\n"
    "w += 1\n",
    (
        Recipe(
            "Update it under no_grad, as optimizers do.",
            "w = torch.ones(2, requires_grad=True)\n"
            "with torch.no_grad():\n"
            "    w += 1\n",
        ),
        Recipe(
            "Compute a new tensor.",
            "w = torch.ones(2, requires_grad=True)\n"
            "v = w + 1\n",
        ),
        Recipe(
            "Clone it first: the clone is not a leaf.",
            "w = torch.ones(2, requires_grad=True)\n"
            "v = w.clone()\n"
            "v += 1\n"
            "v.sum().backward()\n",
        ),
    ),
)

VIEW_INPLACE = Kind(
    "view_inplace",
    "a view that autograd cannot track is modified in place",
    (
        "is a view and is being modified inplace. This view is the output of a function that returns multiple views.",
        "Such functions do not allow the output views to be modified inplace.",
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled.",
        "Can't detach views in-place. Use detach() instead.",
    ),
    "A write through a view changes the graph of its base. Autograd can do this for a single view; it refuses for the views"
    " that unbind, split or chunk return together, and for views created under no_grad.",
    "x = torch.ones(4, requires_grad=True)\n"
    "y = x * 1\n"
    "a, b = y.chunk(2)\n"
    "a.mul_(2)\n",
    (
        Recipe(
            "Compute a new tensor instead of writing into the view.",
            "x = torch.ones(4, requires_grad=True)\n"
            "y = x * 1\n"
            "a, b = y.chunk(2)\n"
            "a = a * 2\n",
        ),
        Recipe(
            "Write through an index: it makes a single view.",
            "x = torch.ones(4, requires_grad=True)\n"
            "y = x * 1\n"
            "y[:2].mul_(2)\n"
            "y.sum().backward()\n",
        ),
    ),
)

NOT_LEAF = Kind(
    "not_leaf",
    "an operation that only a leaf supports is used on a computed tensor",
    (
        "you can only change requires_grad flags of leaf variables.",
        "can't optimize a non-leaf Tensor",
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.",
    ),
    "A computed tensor requires grad because its inputs do. This cannot be turned off on the result; an optimizer cannot update"
    " it (its next value comes from its inputs), and deepcopy cannot copy it without its graph.",
    "x = torch.ones(2, requires_grad=True)\n"
    "y = x * 2\n"
    "y.requires_grad = False\n",
    (
        Recipe(
            "Detach: a new leaf with the same values.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = (x * 2).detach()\n"
            "y.requires_grad = True\n",
        ),
        Recipe(
            "Give the optimizer the leaf that it is computed from.",
            "x = torch.ones(2, requires_grad=True)\n"
            "y = x * 2\n"
            "optimizer = torch.optim.SGD([x], lr=0.1)\n",
        ),
    ),
)

UNUSED = Kind(
    "unused",
    "the output does not depend on a tensor whose gradient is requested",
    (
        "One of the differentiated Tensors appears to not have been used in the graph.",
        "The differentiated Tensor at index 0 appears to not have been used in the graph.",
        "Set allow_unused=True if this is the desired behavior.",
    ),
    "autograd.grad looks for a path from the outputs to each input. There is none if the input was not used, or if what was"
    " used was another tensor with the same values (a detached copy, a clone, or the tensor before the name was assigned again).",
    "x = torch.ones(2, requires_grad=True)\n"
    "w = torch.ones(2, requires_grad=True)\n"
    "loss = x.pow(2).sum()\n"
    "torch.autograd.grad(loss, w)\n",
    (
        Recipe(
            "Allow None as the gradient.",
            "x = torch.ones(2, requires_grad=True)\n"
            "w = torch.ones(2, requires_grad=True)\n"
            "loss = x.pow(2).sum()\n"
            "torch.autograd.grad(loss, w, allow_unused=True)\n",
        ),
        Recipe(
            "Use the tensor itself in the forward.",
            "x = torch.ones(2, requires_grad=True)\n"
            "w = torch.ones(2, requires_grad=True)\n"
            "loss = (w * x.pow(2)).sum()\n"
            "torch.autograd.grad(loss, w)\n",
        ),
    ),
)

DTYPE = Kind(
    "dtype",
    "a tensor has a dtype that the operation does not support",
    (
        "only Tensors of floating point and complex dtype can require gradients",
        "expected scalar type",
        "expected m1 and m2 to have the same dtype",
        "mat1 and mat2 must have the same dtype",
        "Found dtype Long but expected Float",
        "Found dtype Double but expected Float",
        "result type Float can't be cast to the desired output type",
        "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype.",
    ),
    "Only floating point tensors have gradients. Elementwise operations promote dtypes; matrix products need equal dtypes,"
    " and an in-place operation cannot change the dtype of the tensor that it writes to.",
    "x = torch.tensor([1, 2], requires_grad=True)\n",
    (
        Recipe("Write floating point numbers.", "x = torch.tensor([1.0, 2.0], requires_grad=True)\n"),
        Recipe(
            "Convert integers first.",
            "n = torch.tensor([1, 2])\n"
            "x = n.float().requires_grad_()\n",
        ),
    ),
)

SHAPE = Kind(
    "shape",
    "shapes do not match",
    (
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1",
        "mat1 and mat2 shapes cannot be multiplied",
        "shape '[...]' is invalid for input of size",
        "Sizes of tensors must match except in dimension 0.",
        "stack expects each tensor to be equal size",
        "Expected input batch_size to match target batch_size",
    ),
    "Elementwise operations broadcast from the last dimension: two sizes match if they are equal or one of them is 1. A matrix"
    " product needs as many columns in the first operand as rows in the second.",
    "a = torch.ones(2, 3)\n"
    "b = torch.ones(2, 4)\n"
    "a + b\n",
    (
        Recipe(
            "Give one of them a dimension of size 1 where it is to be repeated.",
            "a = torch.ones(2, 3)\n"
            "b = torch.ones(2)\n"
            "a + b.unsqueeze(1)\n",
        ),
        Recipe(
            "For a matrix product, transpose.",
            "a = torch.ones(2, 3)\n"
            "b = torch.ones(4, 3)\n"
            "a @ b.t()\n",
        ),
    ),
)
