"""What Python's compiler warns of comes as a warning with its line; a range's type is `range` in every way of asking."""

import warnings


def words_of_python(text):
    """Return what the compiler of this Python warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile(text, "text", "exec")
    return [str(one.message) for one in caught]


def test_what_the_compiler_doubts_is_a_warning_with_its_line(script, recwarn):
    told = []
    script.machine.on_warning = lambda message, line=None: told.append((message, line))
    script.run("def f(x):\n    y = 1\n    return x is 2\nf(2)")
    assert told == [(words, 3) for words in words_of_python("x is 2")]
    assert told
    assert [str(one.message) for one in recwarn] == []


def test_a_range_is_of_type_range(script):
    script.run(
        "print(type(range(3)) == range, type(range(10**9)) is range, isinstance(range(10**9), (range, int)))\n"
        "print(type(range(3)), type(range(3)).__name__, issubclass(range, object), list(type(range(2))(3)))"
    )
    assert script.output == "True True True\n<class 'range'> range True [0, 1, 2]\n"


def test_headers_of_blocks_are_marked_and_not_their_bodies(script):
    script.run("for x in 3:\n    pass\nwith 5:\n    pass\ndef f():\n    yield 1\n    x = 1 / 0\nfor y in f():\n    y")
    marked = [[(label.span.line, label.span.end_line) for label in failed.problem.labels] for failed in script.failures]
    assert marked == [[(1, 1)], [(3, 3)], [(8, 8), (7, 7)]]
