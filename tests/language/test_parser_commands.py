"""When a command's name starts a command, and what its line holds."""

import pytest
from language_samples import problem_of, statements

from gradsh.language.node import dump
from gradsh.language.tree import Assign, Command, Constant, Expr, Name


def only(text, bound=()):
    (statement,) = statements(text, bound)
    return statement


@pytest.mark.parametrize(
    "text",
    ["graph", "graph z", "graph (z)", "graph [z]", "graph -z", "graph 'z'", "graph 3", "graph not z", "graph --depth 3",
     "graph x, y", "graph\t(z)", "graph; x", "graph # why", "graph {1: 2}", "graph lambda: 0", "graph f'{x}'"],
)
def test_an_unbound_name_starts_a_command(text):
    assert isinstance(statements(text)[0], Command)


@pytest.mark.parametrize(
    "text",
    ["graph = 3", "graph.x", "graph(z)", "graph[z]", "graph, z", "graph: int", "graph += 1", "graph @= 1", "graph == 1",
     "graph >>= 2", "graph **= 2", "(graph)", "graph != 2"],
)
def test_an_unbound_name_that_is_used_as_one_does_not(text):
    assert not isinstance(only(text), Command)


@pytest.mark.parametrize("text", ["graph z", "graph 3", "graph .5", "graph 'z'", "graph f'z'", "graph None"])
def test_a_bound_name_starts_a_command_before_a_name_number_or_string(text):
    assert isinstance(only(text, {"graph"}), Command)


@pytest.mark.parametrize("text", ["graph", "graph (z)", "graph [z]", "graph -z", "graph + z", "graph if z else y", "graph in z"])
def test_a_bound_name_is_a_name_otherwise(text):
    assert isinstance(only(text, {"graph"}), Expr)


@pytest.mark.parametrize(
    "before",
    ["graph = 1", "graph: int = 1", "a, (b, *graph) = c", "for graph in x: pass", "with x as graph: pass",
     "import a.b as graph", "import graph.b", "from a import b as graph", "from a import graph", "def graph(): pass",
     "class graph: pass", "if (graph := 1): pass", "try:\n  x\nexcept E as graph:\n  y", "def f():\n  global graph"],
)
def test_what_the_text_binds_before_counts(before):
    assert isinstance(statements(f"{before}\ngraph")[-1], Expr)
    assert isinstance(statements(f"graph\n{before}")[0], Command)


@pytest.mark.parametrize(
    "before",
    ["def f(graph): pass", "def f():\n  graph = 1", "lambda graph: 1", "[graph for graph in x]", "class C:\n  graph = 1",
     "graph.x = 1", "graph[0] = 1", "graph = 1; del graph", "global graph; del graph"],
)
def test_what_other_scopes_bind_does_not_count(before):
    assert isinstance(statements(f"{before}\ngraph")[-1], Command)


def test_parameters_and_locals_are_bound_in_the_body():
    (function,) = statements("def f(graph):\n  graph\n  time = 1\n  time\n")
    assert [type(statement) for statement in function.body] == [Expr, Assign, Expr]
    (function,) = statements("def f(*, a=1, **graph):\n  graph -1\n")
    assert isinstance(function.body[0], Expr)


def test_del_makes_a_session_name_free_again():
    assert isinstance(statements("del graph\ngraph", {"graph"})[-1], Command)


def test_commands_stand_in_blocks_and_behind_semicolons():
    body = statements("for i in x:\n  backward z --retain\nif a: memory; graph z\nx = 1; graph x; y = 2\n")
    assert isinstance(body[0].body[0], Command)
    assert [type(statement) for statement in body[1].body] == [Command, Command]
    assert [type(statement) for statement in body[2:]] == [Assign, Command, Assign]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("graph x y", ["Name(id='x')", "Name(id='y')"]),
        ("graph x, y", ["Name(id='x')", "Name(id='y')"]),
        ("graph x (y)", ["Call(func=Name(id='x'), args=[Name(id='y')], keywords=[])"]),
        ("graph x, (y)", ["Name(id='x')", "Name(id='y')"]),
        ("graph x -y", ["BinOp(left=Name(id='x'), op='-', right=Name(id='y'))"]),
        ("graph x, -y", ["Name(id='x')", "UnaryOp(op='-', operand=Name(id='y'))"]),
        ("graph x - -y", ["BinOp(left=Name(id='x'), op='-', right=UnaryOp(op='-', operand=Name(id='y')))"]),
        ("graph x[0] [1]", ["Subscript(value=Subscript(value=Name(id='x'), slice=Constant(value=0)), slice=Constant(value=1))"]),
        ("graph x if a else b c", ["IfExp(test=Name(id='a'), body=Name(id='x'), orelse=Name(id='b'))", "Name(id='c')"]),
        ("graph [a --b], c", ["List(elts=[BinOp(left=Name(id='a'), op='-', right=UnaryOp(op='-', operand=Name(id='b')))])",
                              "Name(id='c')"]),
    ],
)
def test_arguments_are_longest_match_expressions(text, arguments):
    assert [dump(argument) for argument in only(text).arguments] == arguments


def test_options():
    command = only("backward y z --grad ones(2), --grad 3 --retain --inputs a b, c --create-graph --format json --output=a/b.txt")
    options = command.options
    assert [dump(argument) for argument in command.arguments] == ["Name(id='y')", "Name(id='z')"]
    assert [dump(value) for value in options["grad"].value] == [
        "Call(func=Name(id='ones'), args=[Constant(value=2)], keywords=[])", "Constant(value=3)",
    ]
    assert options["retain"].value is True
    assert options["create-graph"].value is True
    assert [value.id for value in options["inputs"].value] == ["a", "b", "c"]
    assert options["format"].value.value == "json"
    assert options["output"].value.value == "a/b.txt"
    assert command.text.startswith("backward y z")
    assert command.text.endswith("b.txt")
    assert tuple(options["retain"].span) == (1, 39, 1, 47)
    assert tuple(command.name_span) == (1, 1, 1, 9)


def test_an_option_may_come_first_and_over_a_line_that_goes_on():
    command = only("backward --retain \\\n  --grad 1 z")
    assert set(command.options) == {"retain", "grad"}
    assert [argument.id for argument in command.arguments] == ["z"]


def test_outside_commands_two_signs_are_signs():
    assert dump(only("a --b").value) == "BinOp(left=Name(id='a'), op='-', right=UnaryOp(op='-', operand=Name(id='b')))"
    assert dump(only("time y = a --b").tail.value).startswith("BinOp")
    assert dump(only("backward z--b").arguments[0]).startswith("BinOp")


def test_words_files_and_text():
    assert only("load ~/my-files/it.grad").arguments == [Constant(None, "~/my-files/it.grad")]
    assert only("load 'my file'").arguments == [Constant(None, "my file")]
    assert only("load $x/?;").arguments == [Constant(None, "$x/?")]
    assert only("set prompt in grad >  # set it").arguments == [Constant(None, "prompt"), Constant(None, "in grad >")]
    assert only("release a b, c").arguments == [Name(None, "a"), Name(None, "b"), Name(None, "c")]


def test_tails():
    command = only("time --repeat 3 x = f(y) # so")
    assert isinstance(command.tail, Assign)
    assert command.text == "time --repeat 3 x = f(y)"
    loop = statements("time for i in x:\n  y\nz")
    assert [type(statement) for statement in loop] == [Command, Expr]
    inner = only("time backward z --retain")
    assert set(inner.tail.options) == {"retain"}
    assert inner.options == {}
    expect = only("expect error freed: backward z --retain")
    assert [argument.value for argument in expect.arguments] == ["error", "freed"]
    assert set(expect.tail.options) == {"retain"}
    assert [argument.value for argument in only("expect error: x.backward()").arguments] == ["error"]
    assert isinstance(statements("time graph = 1\ngraph")[-1], Expr)


@pytest.mark.parametrize(
    ("text", "message", "help_line"),
    [
        ("backward", "backward needs an expression for T", "usage: backward T…"),
        ("backward --retain", "backward needs an expression for T", "usage"),
        ("backward z --retian", "backward has no option --retian", "did you mean --retain?"),
        ("backward z --retain_graph", "backward has no option --retain_graph", "did you mean --retain?"),
        ("backward z --grad", "--grad needs a value", "usage"),
        ("backward z --grad --retain", "--grad needs a value", "usage"),
        ("backward z --retain=1", "--retain takes no value", "write --retain alone"),
        ("backward z --format tex", "'tex' is not one of text, json", "did you mean text?"),
        ("backward z --format text --format json", "--format is given twice", "give it once"),
        ("backward z, ", "expected an argument behind the comma", "usage"),
        ("backward z, retain_graph=True", "backward takes no arguments of the form NAME=…", "options are written --name"),
        ("graph x ~y", "an argument that begins with ~ needs a comma", "put a comma"),
        ("memory x", "memory takes no arguments here", "usage: memory"),
        ("load", "load needs a file name for FILE", "usage: load FILE"),
        ("load 'a", "unterminated string literal", "close it"),
        ("load a b", "load takes 1 argument here", "usage"),
        ("release 3", "expected a name for NAME", "usage"),
        ("expect error", "expect needs a colon and a statement", "usage: expect error [KIND]: STATEMENT"),
        ("expect error fred: x", "'fred' is not one of freed, shape", "did you mean freed?"),
        ("expect error freed: for i in x: pass", "'for' cannot stand here", "line of its own"),
        ("expect error freed:", "expect needs a statement", "usage"),
        ("time", "time needs a statement", "usage: time [--repeat E] STATEMENT"),
        ("memory --live", "memory has no option --live", "it has no options"),
        ("graph = 1\ngraph --depth 3", "'graph' is a variable of the program", "rename the variable"),
        ("bakward z", "'bakward' begins no statement", "did you mean backward?"),
    ],
)
def test_half_a_command(text, message, help_line):
    problem = problem_of(text)
    assert problem.kind == "syntax"
    assert message in problem.message
    assert help_line in problem.help[0]
