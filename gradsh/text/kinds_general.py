"""The kinds of errors that any program has, and those of gradsh's own: indices, names, values, syntax, limits, files."""

from gradsh.text.kind import Kind, Way

INDEX = Kind(
    "index",
    "an index or a dimension lies outside its range",
    (
        "index 2 is out of bounds for dimension 0 with size 2",
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        "too many indices for tensor of dimension 1",
        "list index out of range",
    ),
    "Indices go from 0 to the size less one, or from -1 backwards; dimensions from 0 to their number less one.",
    "x = torch.ones(2)\n"
    "x[2]\n",
    (
        Way("Count from the end with negative numbers.", "x = torch.ones(2)\nx[-1]\n"),
        Way("Take a slice: it is cut to what is there.", "x = torch.ones(2)\nx[1:5]\n"),
    ),
)

KEY = Kind(
    "key",
    "a dict has no such key",
    ("KeyError",),
    "A dict answers only for the keys that were put into it. The keys of a module's state_dict are its parameters' names with"
    " dots, as in 'fc.weight'.",
    "losses = {'train': 1.0}\n"
    "losses['test']\n",
    (
        Way("Ask with a default.", "losses = {'train': 1.0}\nlosses.get('test', 0.0)\n"),
        Way("Look at the keys.", "losses = {'train': 1.0}\nlist(losses)\n"),
    ),
)

ATTRIBUTE = Kind(
    "attribute",
    "a value has no such attribute or method",
    ("'Tensor' object has no attribute", "module 'torch' has no attribute", "'NoneType' object has no attribute"),
    "The name is misspelt, belongs to another kind of value, or is one that gradsh does not offer. Where None has no attribute,"
    " the value is missing: a .grad before the first backward, the result of a function without return.",
    "x = torch.ones(2)\n"
    "x.men()\n",
    (
        Way("Write the name that the error offers.", "x = torch.ones(2)\nx.mean()\n"),
        Way(
            "Run a backward before the gradient is read.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward()\n"
            "x.grad.norm()\n",
        ),
    ),
)

NAME = Kind(
    "name",
    "nothing has that name",
    ("name 'y' is not defined", "cannot access local variable 'y' where it is not associated with a value",
     "No module named", "cannot import name"),
    "A name is looked up in the program, among the builtins, then in torch.nn.functional, torch, torch.nn and torch.optim. A"
    " name that a function assigns to is that function's own, throughout it.",
    "x = torch.ones(2)\n"
    "print(y)\n",
    (
        Way("Bind it first.", "x = torch.ones(2)\ny = x + 1\nprint(y)\n"),
        Way(
            "Declare a name of the program that a function assigns to.",
            "count = 0\n"
            "def step():\n"
            "    global count\n"
            "    count += 1\n"
            "step()\n",
        ),
    ),
)

TYPE = Kind(
    "type",
    "a value of the wrong type, or a call with the wrong arguments",
    (
        "missing 1 required positional argument",
        "got an unexpected keyword argument",
        "takes 1 positional argument but 2 were given",
        "unsupported operand type(s) for +",
        "'Tensor' object is not callable",
    ),
    "A function got too many arguments, too few, one with a name that it does not have, or one of a type that it does not take."
    " The error shows the function's signature.",
    "x = torch.ones(2, requires_grad=True)\n"
    "x.sum().backward(retain_variables=True)\n",
    (
        Way(
            "Use the argument's name of today.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward(retain_graph=True)\n",
        ),
    ),
)

VALUE = Kind(
    "value",
    "a value that the operation cannot do anything with",
    (
        "Boolean value of Tensor with more than one value is ambiguous",
        "a Tensor with 2 elements cannot be converted to Scalar",
        "only one element tensors can be converted to Python scalars",
        "optimizer got an empty parameter list",
        "not enough values to unpack",
    ),
    "The type is right and the value is not: a tensor of several elements where one number or one truth is needed, an empty"
    " list, a text that is no number.",
    "x = torch.tensor([1.0, -1.0])\n"
    "if x > 0:\n"
    "    print('positive')\n",
    (
        Way("Say whether all elements count, or any.", "x = torch.tensor([1.0, -1.0])\nif (x > 0).any():\n    print('positive')\n"),
        Way("Reduce to one number.", "x = torch.tensor([1.0, -1.0])\nx.sum().item()\n"),
    ),
)

ARITHMETIC = Kind(
    "arithmetic",
    "a calculation with Python's numbers has no result",
    ("division by zero", "ZeroDivisionError", "OverflowError"),
    "Python's own numbers refuse division by zero and results that a float cannot hold. Tensors of floating point numbers do"
    " not: they give inf or nan.",
    "count = 0\n"
    "mean = 1.0 / count\n",
    (
        Way("Guard the case.", "count = 0\nmean = 1.0 / count if count else 0.0\n"),
        Way("Calculate with tensors, which give inf.", "count = torch.tensor(0.0)\nmean = 1.0 / count\n"),
    ),
)

ASSERT = Kind(
    "assert",
    "an assertion of the script does not hold",
    ("AssertionError",),
    "The script says what must be true at this place, and it is not.",
    "x = torch.ones(2, requires_grad=True)\n"
    "assert x.grad is not None, 'no gradient yet'\n",
    (
        Way(
            "Make it true before it is asked.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward()\n"
            "assert x.grad is not None, 'no gradient yet'\n",
        ),
    ),
)

EXPECT = Kind(
    "expect",
    "a failure that the script announces did not happen, or another one did",
    (),
    "`expect error KIND: STATEMENT` passes when the statement fails with that kind. It fails when the statement succeeds or"
    " fails with another kind.",
    "x = torch.ones(2, requires_grad=True)\n"
    "loss = x.sum()\n"
    "expect error freed: loss.backward()\n",
    (
        Way(
            "Announce what does happen: sum saves nothing, pow does.",
            "x = torch.ones(2, requires_grad=True)\n"
            "loss = x.pow(2).sum()\n"
            "loss.backward()\n"
            "expect error freed: loss.backward()\n",
        ),
    ),
)

SYNTAX = Kind(
    "syntax",
    "the text is no program",
    ("invalid syntax", "'(' was never closed", "unterminated string literal", "unexpected indent",
     "Missing parentheses in call to 'print'. Did you mean print(...)?"),
    "The text cannot be read: a bracket or a quote is open, a colon is missing, a line is indented without reason, or it uses a"
    " part of Python that the language leaves out (async, match, bytes, complex numbers). Nothing of it has run.",
    "x = torch.ones(2\n",
    (
        Way("Close what is open.", "x = torch.ones(2)\n"),
        Way("Use the forms of today: print is a function.", "x = torch.ones(2)\nprint(x)\n"),
    ),
)

LIMIT = Kind(
    "limit",
    "the script asks for more than it may use",
    (
        "maximum recursion depth exceeded", "DefaultCPUAllocator: can't allocate memory", "MemoryError",
        "CUDA out of memory. Tried to allocate",
    ),
    "Time, memory, nodes, output, the depth of calls and of expressions are bounded, so that a script cannot take the machine"
    " with it. The session goes on, and what the statement had taken is given back.",
    "def depth(n):\n"
    "    return depth(n + 1)\n"
    "depth(0)\n",
    (
        Way(
            "Write a loop instead of the recursion.",
            "n = 0\n"
            "while n < 10000:\n"
            "    n += 1\n",
        ),
        Way(
            "End the recursion.",
            "def depth(n):\n"
            "    return n if n == 100 else depth(n + 1)\n"
            "depth(0)\n",
        ),
    ),
)

IO = Kind(
    "io",
    "a file cannot be read or written",
    ("No such file or directory", "Permission denied", "Is a directory"),
    "Only commands that a person types touch files (`save`, `load`, `--output`). In `gradsh run` and `gradsh test` they are"
    " refused unless --allow-files DIR names a folder, and then they stay inside it.",
    "load no-such-file.grad\n",
    (
        Way("Write what the file would hold into the script.", "x = torch.ones(2)\n"),
    ),
)

INTERRUPT = Kind(
    "interrupt",
    "Ctrl-C stopped the statement",
    ("KeyboardInterrupt",),
    "An interrupt takes effect between two statements, or between two nodes of a backward; what the pass had freed and written"
    " by then stays so, and the error lists it. The session goes on.",
    "",
    (
        Way(
            "Give a loop an end.",
            "for step in range(10):\n"
            "    pass\n",
        ),
    ),
    "Press Ctrl-C while a statement runs: `while True: pass`.",
)

OTHER = Kind(
    "other",
    "an error that the script raised itself, or that belongs to no other kind",
    ("RuntimeError", "StopIteration", "NotImplementedError"),
    "The message is all that is known: it was raised by the script, or by an operation for a reason of its own.",
    "raise RuntimeError('the loss is not finite')\n",
    (
        Way(
            "Catch it where something can be done about it.",
            "try:\n"
            "    raise RuntimeError('the loss is not finite')\n"
            "except RuntimeError as error:\n"
            "    print(error)\n",
        ),
    ),
)
