"""Scripts and sessions in Markdown: run, compared, updated; all else is left alone."""

from pathlib import Path

import pytest

from gradsh.golden.documents import fences
from gradsh.process.limits import UNBOUNDED
from gradsh.run.script import RunOptions
from tests.golden.conftest import Golden, script

PAGE = """# A page

```grad
x = ones(2, requires_grad=True)
print(x.sum().item())
#> 2.0
```

Text with `grad` and a list:

````text
```grad
nonsense
```
````

```grad once added
nonsense
```

~~~grad
grad> y = 3
grad> for i in range(2):
....>     print(i + y)
3
4
grad> x
error[name]: name 'x' is not defined
...
~~~

```python
nonsense
```

```grad
print("just runs")
```
"""


def test_a_document_passes(golden: Golden) -> None:
    script("docs/a.md", PAGE)
    script("docs/prose.md", "# None here\n\n```sh\nls\n```\n")
    assert golden() == (0, "1 passed, 0 failed\n", "")
    assert golden("docs/prose.md")[0] == 0


def test_differences_have_the_lines_of_the_document(golden: Golden) -> None:
    page = script("a.md", PAGE.replace("#> 2.0", "#> 3.0").replace("....>     print(i + y)\n3\n", "....>     print(i + y)\n5\n"))
    status, out, _ = golden("a.md")
    assert status == 1
    assert "a.md:5: the output differs\na.md:23: the output differs\n" in out
    assert "-#> 3.0\n+#> 2.0\n" in out
    assert "-5\n+3\n" in out
    assert golden("a.md", update=True)[0] == 0
    assert page.read_text() == PAGE


def test_new_turns_are_filled_in_and_failures_are_not(golden: Golden) -> None:
    page = script("a.md", "```grad\ngrad> 1 + 1\ngrad> 1 / 0\ngrad> 2 / 0\nerror[arithmetic]\n```\n\n```grad\n1 / 0\n```\n")
    status, out, _ = golden("a.md", update=True)
    assert status == 1
    text = page.read_text()
    assert text.startswith("```grad\ngrad> 1 + 1\n2\ngrad> 1 / 0\ngrad> 2 / 0\nerror[arithmetic]: division by zero\n  3 | 2 / 0\n")
    assert "a.md:4: the statement failed" in out
    assert text.endswith("```grad\n1 / 0\n```\n")


@pytest.mark.parametrize("text", ["print('```')", "print('grad> x')", "print('a\\n~~~')"])
def test_output_that_would_break_the_document_is_not_written(golden: Golden, text: str) -> None:
    page = script("a.md", f"```grad\ngrad> {text}\n```\n")
    before = page.read_text()
    status, out, _ = golden("a.md", update=True)
    assert (status, page.read_text()) == (1, before)
    assert "it cannot stand here" in out


@pytest.mark.parametrize(("text", "found"), [
    ("```grad\n1\n```\n", [(2, ("1",))]), ("```grad\n1", [(2, ("1",))]), ("``` grad  \n1\n````\n", [(2, ("1",))]),
    ("```grad\n```\n", [(2, ())]),
    ("  ```grad\n1\n  ```\n", []), ("```\n```grad\n1\n```\n", []), ("````grad\n```\n````\n", [(2, ("```",))]),
    ("```grad\r\n1\r\n```\r\n", [(2, ("1",))]), ("~~~grad\n```\n~~~\n```grad\n2\n```", [(2, ("```",)), (5, ("2",))]), ("``grad\n1\n``", []),
    ("", []),
])
def test_fences(text: str, found: list[tuple[int, tuple[str, ...]]]) -> None:
    assert [tuple(one) for one in fences(text)] == found


def test_each_fence_is_by_itself(golden: Golden) -> None:
    script("a.md", "```grad\n#@ seed=3 rtol=0\nx = rand(1)\n```\n\n```grad\nx\n#! error[name]: [..]\n#! ...\n```\n\n"
                   "```grad\n#@ skip=never\nnonsense\n```\n\n```grad\nprint((1)\n```\n")
    status, out, _ = golden("a.md")
    assert status == 1
    assert out.count("a.md:") == out.count("a.md:18: cannot be run") == 1


def test_an_unreadable_document_is_told(golden: Golden) -> None:
    Path("a.md").write_bytes(b"\xff")
    assert golden("a.md")[1].startswith("a.md: cannot be read: line 1 is not UTF-8")
    Path("b.md").write_text("```grad\ngrad> while True: pass\n```\n")
    brief = RunOptions(limits=UNBOUNDED._replace(timeout=0.5))
    assert golden("b.md", "a.md", run=brief)[0] == 1
