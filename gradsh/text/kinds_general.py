"""The kinds of errors that any program has, and those of gradsh's own: indices, names, values, syntax, limits, files."""

from gradsh.text.kind import Kind, Recipe

INDEX = Kind(
    "index",
    "an index or a dimension is out of range",
    (
        "index 2 is out of bounds for dimension 0 with size 2",
        "Dimension out of range (expected to be in range of [-1, 0], but got 1)",
        "too many indices for tensor of dimension 1",
        "list index out of range",
    ),
    "Indices go from 0 to the size minus one, or from -1 backwards; dimensions from 0 to the number of dimensions minus one.",
    "x = torch.ones(2)\n"
    "x[2]\n",
    (
        Recipe("Count from the end with negative numbers.", "x = torch.ones(2)\nx[-1]\n"),
        Recipe("Take a slice: it ends at the last element.", "x = torch.ones(2)\nx[1:5]\n"),
    ),
)

KEY = Kind(
    "key",
    "a dict has no such key",
    ("KeyError",),
    "A dict has only the keys that were put into it. The keys of a module's state_dict are its parameters' names with"
    " dots, as in 'fc.weight'.",
    "losses = {'train': 1.0}\n"
    "losses['test']\n",
    (
        Recipe("Use a default.", "losses = {'train': 1.0}\nlosses.get('test', 0.0)\n"),
        Recipe("Look at the keys.", "losses = {'train': 1.0}\nlist(losses)\n"),
    ),
)

ATTRIBUTE = Kind(
    "attribute",
    "a value has no such attribute or method",
    ("'Tensor' object has no attribute", "module 'torch' has no attribute", "'NoneType' object has no attribute"),
    "The name is misspelt, belongs to another type, or is one that gradsh does not have. If the value is None, something is"
    " missing: a .grad before the first backward, or the result of a function without return.",
    "x = torch.ones(2)\n"
    "x.men()\n",
    (
        Recipe("Use the name that the error suggests.", "x = torch.ones(2)\nx.mean()\n"),
        Recipe(
            "Run a backward before reading the gradient.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward()\n"
            "x.grad.norm()\n",
        ),
    ),
)

NAME = Kind(
    "name",
    "the name is not defined",
    ("name 'y' is not defined", "cannot access local variable 'y' where it is not associated with a value",
     "No module named", "cannot import name"),
    "A name is looked up in the program, among the builtins, then in torch.nn.functional, torch, torch.nn and torch.optim. A"
    " name that a function assigns to is that function's own, throughout it.",
    "x = torch.ones(2)\n"
    "print(y)\n",
    (
        Recipe("Assign it first.", "x = torch.ones(2)\ny = x + 1\nprint(y)\n"),
        Recipe(
            "Declare a global name that a function assigns to.",
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
    "A function got too many or too few arguments, an unknown keyword argument, or an argument of a wrong type."
    " The error shows the function's signature.",
    "x = torch.ones(2, requires_grad=True)\n"
    "x.sum().backward(retain_variables=True)\n",
    (
        Recipe(
            "Use the current name of the argument.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward(retain_graph=True)\n",
        ),
    ),
)

VALUE = Kind(
    "value",
    "a value that the operation does not accept",
    (
        "Boolean value of Tensor with more than one value is ambiguous",
        "a Tensor with 2 elements cannot be converted to Scalar",
        "only one element tensors can be converted to Python scalars",
        "optimizer got an empty parameter list",
        "not enough values to unpack",
    ),
    "The type is right, the value is not: a tensor of several elements where one number or bool is needed, an empty list, a"
    " string that is not a number.",
    "x = torch.tensor([1.0, -1.0])\n"
    "if x > 0:\n"
    "    print('positive')\n",
    (
        Recipe("State whether all elements must hold, or any.",
               "x = torch.tensor([1.0, -1.0])\nif (x > 0).any():\n    print('positive')\n"),
        Recipe("Reduce to one number.", "x = torch.tensor([1.0, -1.0])\nx.sum().item()\n"),
    ),
)

ARITHMETIC = Kind(
    "arithmetic",
    "a calculation with Python numbers has no result",
    ("division by zero", "ZeroDivisionError", "OverflowError"),
    "Python numbers raise on division by zero and on results too large for a float. Floating point tensors do"
    " not: they give inf or nan.",
    "count = 0\n"
    "mean = 1.0 / count\n",
    (
        Recipe("Guard the case.", "count = 0\nmean = 1.0 / count if count else 0.0\n"),
        Recipe("Calculate with tensors, which give inf.", "count = torch.tensor(0.0)\nmean = 1.0 / count\n"),
    ),
)

ASSERT = Kind(
    "assert",
    "an assertion of the script failed",
    ("AssertionError",),
    "The condition of an `assert` is false.",
    "x = torch.ones(2, requires_grad=True)\n"
    "assert x.grad is not None, 'no gradient yet'\n",
    (
        Recipe(
            "Make it true before the assertion.",
            "x = torch.ones(2, requires_grad=True)\n"
            "x.sum().backward()\n"
            "assert x.grad is not None, 'no gradient yet'\n",
        ),
    ),
)

EXPECT = Kind(
    "expect",
    "an expected failure did not happen, or another one did",
    (),
    "`expect error KIND: STATEMENT` succeeds when the statement fails with that kind. It fails when the statement succeeds or"
    " fails with another kind.",
    "x = torch.ones(2, requires_grad=True)\n"
    "loss = x.sum()\n"
    "expect error freed: loss.backward()\n",
    (
        Recipe(
            "Expect what does happen: sum saves nothing, pow does.",
            "x = torch.ones(2, requires_grad=True)\n"
            "loss = x.pow(2).sum()\n"
            "loss.backward()\n"
            "expect error freed: loss.backward()\n",
        ),
    ),
)

SYNTAX = Kind(
    "syntax",
    "the text is not a valid program",
    ("invalid syntax", "'(' was never closed", "unterminated string literal", "unexpected indent",
     "Missing parentheses in call to 'print'. Did you mean print(...)?"),
    "The text cannot be parsed: a bracket or quote is not closed, a colon is missing, an indent is unexpected, or it uses a part"
    " of Python that gradsh does not have (async, complex numbers). No statement has run.",
    "x = torch.ones(2\n",
    (
        Recipe("Close the bracket.", "x = torch.ones(2)\n"),
        Recipe("Use the syntax of Python 3: print is a function.", "x = torch.ones(2)\nprint(x)\n"),
    ),
)

LIMIT = Kind(
    "limit",
    "the script exceeds a limit of time, memory, nodes or output",
    (
        "maximum recursion depth exceeded", "DefaultCPUAllocator: can't allocate memory", "MemoryError",
        "CUDA out of memory. Tried to allocate",
    ),
    "Time, memory, nodes, output and the depth of calls and expressions are limited, so that a script cannot block the machine."
    " The session continues, and the memory of the statement is released.",
    "def depth(n):\n"
    "    return depth(n + 1)\n"
    "depth(0)\n",
    (
        Recipe(
            "Write a loop instead of the recursion.",
            "n = 0\n"
            "while n < 10000:\n"
            "    n += 1\n",
        ),
        Recipe(
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
    "Only typed commands read and write files (`save`, `load`, `--output`). In `gradsh run` and `gradsh test` they need"
    " --allow-files DIR, and then they cannot leave this folder.",
    "load no-such-file.grad\n",
    (
        Recipe("Write the contents of the file into the script.", "x = torch.ones(2)\n"),
    ),
)

INTERRUPT = Kind(
    "interrupt",
    "Ctrl-C stopped the statement",
    ("KeyboardInterrupt",),
    "An interrupt takes effect between two statements, or between two nodes of a backward; what backward has freed and written"
    " by then stays, and the error lists it. The session continues.",
    "",
    (
        Recipe(
            "Give a loop an end.",
            "for step in range(10):\n"
            "    pass\n",
        ),
    ),
    "Press Ctrl-C while a statement runs: `while True: pass`.",
)

OTHER = Kind(
    "other",
    "an error that the script raised itself, or of no other kind",
    ("RuntimeError", "StopIteration", "NotImplementedError"),
    "The message says what happened: the script or an operation raised it.",
    "raise RuntimeError('the loss is not finite')\n",
    (
        Recipe(
            "Catch it where the program can handle it.",
            "try:\n"
            "    raise RuntimeError('the loss is not finite')\n"
            "except RuntimeError as error:\n"
            "    print(error)\n",
        ),
    ),
)
