"""The page in a real browser: Chromium, driven by playwright; skipped where either is missing (`make browser` sets them up)."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gradsh.report.page import ReportFile
from tests.browser import BOUND
from tests.browser import chromium as started
from tests.processes import wait_until
from tests.report.test_recorder import SCRIPTS, recorded, state_at

STATES = """step => { gradsh.go({step}); return Object.fromEntries([...document.querySelectorAll("g.unit[data-node]")].map(
    one => [one.dataset.node, one.dataset.state])) }"""
TOO_WIDE = """[...document.querySelectorAll("td, th, .diff span, .printed pre, .failure, svg.graph, canvas")].filter(
    one => one.getBoundingClientRect().right > 701).map(one => one.textContent)"""
NAMELESS = """[...document.querySelectorAll("button, select, input, [role=button], [role=img], [role=region], section, nav")].filter(
    one => !(one.getAttribute("aria-label") || one.textContent).trim()).map(one => one.outerHTML)"""
FOCUSED = "document.activeElement.dataset.key"
IN_VIEW = """(() => {
    const [one, around] = [document.activeElement, document.querySelector(".drawing")].map(it => it.getBoundingClientRect());
    return one.right > around.left && one.left < around.right && one.bottom > around.top && one.top < around.bottom })()"""
AXE = Path(__file__).parents[2] / "page/node_modules/axe-core/axe.min.js"
LOOK = """[document.documentElement.className, getComputedStyle(document.body).backgroundColor,
    document.querySelectorAll("details[open]").length]"""
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a report of a script's text; nothing may be told on the console, and nothing else be loaded."""
    told: list[str] = []
    pages: list[Any] = []

    def opener(text: str, name: str = "<code>", fragment: str = "", beside: Mapping[str, str] = {}, **options: Any) -> Any:
        file = ReportFile(str(tmp_path / "report.html"))
        run, _ = recorded(text, name, beside=beside)
        file.add(name, run)
        assert file.write() == 0
        page = chromium.new_page(**{"viewport": {"width": 1600, "height": 1000}, **options})
        page.set_default_timeout(BOUND)
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: request.url.startswith("file://") or told.append(request.url))
        page.goto(f"file://{tmp_path}/report.html{fragment}")
        page.run = run
        pages.append(page)
        return page

    yield opener
    for page in pages:
        page.close()
    assert told == []


def script(pattern: str) -> str:
    return next(SCRIPTS.glob(pattern)).read_text(encoding="utf-8")


def words(page: Any) -> str:
    return str(page.inner_text("output.words"))


def test_it_opens_at_the_failure_and_plays_to_the_end(opened: Open) -> None:
    page = opened(script("s01-*"))
    assert words(page).startswith("step 30 of 31 · line 32: statement failed")
    assert page.inner_text(".failure h3") == "freed backward needs PowBackward0.self, which an earlier backward freed"
    assert page.locator(".story li").all_inner_texts() == [
        "line 6 saved here: self, (2,), 8 B", "line 21 freed here", "line 32 needed again here",
    ]
    assert page.locator("path.arrow").count() == 2
    assert "+ 21 | backward z --retain" in page.inner_text("details.fix[open] .diff")
    page.keyboard.press("Home")
    page.select_option("select[aria-label=speed]", label="fastest")
    page.keyboard.press(" ")
    wait_until(lambda: words(page).startswith("step 31 of 31"), "the last step")
    page.wait_for_selector("button[aria-label=play]")


@pytest.mark.parametrize("pattern", ["s16-*", "s18-*", "s20-*", "s24-*"])
def test_states_are_those_of_the_events_at_each_step(opened: Open, pattern: str) -> None:
    page = opened(script(pattern))
    run = page.run
    order = ["modified", "freed", "pinned", "packed", "live"]
    for step in range(len(run["steps"])):
        wanted = {}
        for number, node in enumerate(run["nodes"]):
            if node["born"] <= step < node.get("died", step + 1):
                states = state_at(run, node, step)
                wanted[str(number)] = next((one for one in order if one in states), "none")
        assert page.evaluate(STATES, step) == wanted, step


def test_keys_go_through_the_session(opened: Open) -> None:
    page = opened(script("s01-*"))
    for key, begin in (("Home", "step 1 "), ("ArrowRight", "step 2 "), ("ArrowLeft", "step 1 "), ("p", "step 10 "),
                       ("Shift+ArrowRight", "step 11 "), ("f", "step 30 "), ("End", "step 31 ")):
        page.keyboard.press(key)
        assert words(page).startswith(begin), key
    page.keyboard.press("/")
    page.keyboard.type("pow")
    assert page.inner_text(".found") == "1 found"
    assert page.locator("g.unit.hit").get_attribute("aria-label").startswith("PowBackward0")
    page.keyboard.press("Enter")
    assert page.inner_text(".details h3").startswith("PowBackward0 (2,)")
    assert "freed by line 21" in page.inner_text(".details")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator(".details").is_hidden()
    page.focus("g.unit.node")
    page.keyboard.press("Enter")
    assert page.locator(".details").is_visible()


def test_a_line_selects_its_nodes_and_a_node_its_line(opened: Open) -> None:
    page = opened(script("s01-*"))
    page.click("#line-5 button")
    assert sorted(page.locator("g.unit.by-line .title").all_text_contents()) == ["AddBackward0", "MeanBackward1", "SqueezeBackward0"]
    page.locator("g.unit", has_text="PowBackward0").click()
    assert page.locator("tr.selected").first.get_attribute("id") == "line-6"
    assert "#step=30&node=PowBackward0:" in page.url


def test_the_address_opens_a_moment(opened: Open) -> None:
    page = opened(script("s01-*"), fragment="#step=13&node=PowBackward0")
    assert words(page).startswith("step 13 of 31")
    assert page.inner_text(".details h3").startswith("PowBackward0")
    page.evaluate("location.hash = '#step=3&node=x'")
    wait_until(lambda: page.inner_text(".details h3").startswith("AccumulateGrad"), "the node x")
    page.evaluate("location.hash = '#step=99999&node=nothing&line=x'")
    wait_until(lambda: words(page).startswith("step 31"), "the last step")


def test_paper_shows_everything_in_light_colours_and_the_screen_comes_back(opened: Open) -> None:
    page = opened(script("s24-*"), color_scheme="dark")
    before = page.evaluate(LOOK)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details:not([open])").count() == 0
    assert page.locator(".table h3").all_inner_texts() == [
        "Saved tensors", "Variables", "Parameters", "Nodes", "Bytes by line", "Bytes by module", "Bytes by name", "Bytes by step", "Output",
    ]
    assert page.evaluate(TOO_WIDE) == []
    assert page.locator("path.arrow").count() == 2
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".table h3").count() == 0
    assert page.evaluate(LOOK) == before


def test_each_control_has_a_name_and_the_source_is_gone_through_by_keys(opened: Open) -> None:
    page = opened(script("s24-*"), reduced_motion="reduce")
    assert page.evaluate(NAMELESS) == []
    page.focus(".code")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "16"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert page.locator("tr.selected").get_attribute("id") == "line-15"
    assert page.evaluate("getComputedStyle(document.querySelector('.unit rect')).transitionDuration") == "0s"


GROUPS = (
    "net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()) for _ in range(12)])\n"
    "loss = net(randn(2, 4)).sum()\n"
)


@pytest.mark.parametrize("pattern", ["s24-*", ""])
def test_each_node_of_the_graph_is_reached_by_keys_alone(opened: Open, pattern: str) -> None:
    page = opened(script(pattern) if pattern else GROUPS)
    assert page.locator("g.unit[tabindex='0']").count() == 1
    drawn = page.locator("g.unit").evaluate_all("all => all.map(one => one.dataset.key)")
    before = page.evaluate("gradsh.state.step")
    page.locator("button[aria-label='fold everything']").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    met = [page.evaluate(FOCUSED)]
    while met[-1:] != met[-2:-1]:
        page.keyboard.press("ArrowRight")
        met.append(page.evaluate(FOCUSED))
        assert page.evaluate(IN_VIEW), met[-1]
    assert met[:-1] == drawn  # what is read aloud is in the same order
    assert page.evaluate("gradsh.state.step") == before
    page.locator("g.unit[aria-label*='; sends gradients to ']").first.focus()
    target = page.evaluate("document.activeElement.getAttribute('aria-label')").rpartition("; sends gradients to ")[2]
    first = page.evaluate(FOCUSED)
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.querySelector('.title').textContent").removeprefix("▸ ") in target
    page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUSED) == first
    page.keyboard.press("Tab")
    assert page.locator("g.unit:focus").count() == 0


def test_the_focus_stays_where_a_group_is_opened_and_folded(opened: Open) -> None:
    page = opened(GROUPS)
    page.locator("g.unit.group").first.focus()
    group = page.evaluate(FOCUSED)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") != "false"
    assert page.locator("g.unit:focus").count() == 1
    if page.evaluate(FOCUSED).startswith("f "):
        page.keyboard.press("Enter")
        assert page.evaluate(FOCUSED) == group
    page.keyboard.press("Home")
    page.keyboard.press("End")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("g.unit:focus").count() == 1


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: `make page`")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_of_axe_hold(opened: Open, scheme: str) -> None:
    for width in (400, 1600):
        page = opened(script("s24-*"), color_scheme=scheme, viewport={"width": width, "height": 900})
        page.locator("g.unit.node").first.focus()
        page.keyboard.press("Enter")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
        assert len(found["passes"]) > 30


def test_large_graphs_are_folded_and_groups_open_and_close(opened: Open) -> None:
    page = opened(GROUPS)
    groups = page.locator("g.unit.group")
    before = page.locator("g.unit").count()
    assert groups.count() > 4
    assert before < 60
    name = (groups.first.locator(".title").text_content() or "").removeprefix("▸ ")
    groups.first.click()
    assert page.locator("g.unit").count() > before
    assert page.locator("g.unit.group .title", has_text=f"▸ {name}").count() == 0
    page.click("button[aria-label='fold everything']")
    assert page.locator("g.unit").count() == before
    page.select_option("select[aria-label='fold by']", "none")
    assert page.locator("g.unit.node").count() + groups.count() < 300


def test_five_thousand_nodes_are_folded_first(opened: Open) -> None:
    text = "x = randn(8, requires_grad=True)\ny = x\nfor i in range(1250):\n    y = (y * 1.01).tanh().sin().exp()\nz = y.sum()\n"
    page = opened(text)
    assert len(page.run["nodes"]) > 5000
    for by in ("", "function", "line", "none"):
        page.select_option("select[aria-label='fold by']", by)
        assert 0 < page.locator("g.unit").count() < 300
    page.fill("input[aria-label^='find a node']", "tanh")
    assert page.inner_text(".found") == "1250 found"
    page.keyboard.press("Enter")
    assert page.inner_text(".details h3").startswith("TanhBackward0")


def test_tables_sort_filter_and_copy(opened: Open) -> None:
    page = opened(script("s24-*"), fragment="#step=7")
    page.click("th >> text=bytes")
    page.click("th >> text=bytes")
    sizes = [int(text.split()[0]) for text in page.locator(".tables-panel tbody tr td:nth-child(5)").all_inner_texts()]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 5
    page.fill("input[aria-label='filter the rows']", "Relu")
    assert page.locator(".tables-panel tbody tr").count() == 1
    assert page.evaluate("gradsh.views[4].csv()").splitlines() == [
        "node,saved,shape,dtype,bytes,state,also held by,version,line", 'ReluBackward0,result,"(1, 2, 2, 2)",float32,32,● live,h,0,10',
    ]
    for tab in ("Variables", "Parameters", "Nodes", "Bytes by line", "Bytes by module", "Bytes by name", "Bytes by step", "Output"):
        page.click(f"[role=tab]:text-is('{tab}')")
        assert page.locator("[role=tabpanel]").get_attribute("aria-label") == tab
    page.click("[role=tab]:text-is('Variables')")
    page.fill("input[aria-label='filter the rows']", "")
    assert page.locator(".tables-panel tbody tr td:first-child").all_inner_texts()[-1] == "car"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_both_themes_at_both_widths(opened: Open, scheme: str, width: int) -> None:
    page = opened(script("g06-*"), color_scheme=scheme, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (light == "rgb(255, 255, 255)") == (scheme == "light")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert page.locator(".largest li").count() == 5


def test_text_of_the_script_stays_text(opened: Open) -> None:
    text = (
        "d = {'<img src=x onerror=document.title=1>': ones(2, requires_grad=True)}\n"
        "d['\\u202ekcab'], d['n' * 10000] = ones(1, requires_grad=True), ones(1)\n"
        "print('<script>document.title = 1</script>')\ny = sum(one.sum() for one in d.values())\n"
        "# \u202e</script><script>document.title = 1</script>\n"
    )
    page = opened(text)
    assert page.title() == "gradsh report"
    assert page.locator("img").count() == 0
    shown = page.inner_text("body")
    assert "<img src=x onerror" in shown
    assert "\u202e" not in page.content().partition('id="report"')[0]
    assert "\u202e" not in shown
    assert "\\u202e" in shown


def test_no_other_script_runs(chromium: Any, tmp_path: Path) -> None:
    file = ReportFile(str(tmp_path / "report.html"))
    file.add("a", recorded("x = ones(1)\n")[0])
    file.write()
    path = tmp_path / "report.html"
    other = "<script>document.title = 'broken'</script><noscript>"
    path.write_text(path.read_text(encoding="utf-8").replace("<noscript>", other), encoding="utf-8")
    page = chromium.new_page()
    page.goto(f"file://{tmp_path}/report.html")
    assert page.title() == "gradsh report"
    page.close()


def test_lines_of_an_imported_file_are_told_with_its_name(opened: Open) -> None:
    text = "from loop import train\nx = ones(2, requires_grad=True)\nloss = x.exp().sum()\ntrain(loss)\ntrain(loss)\n"
    page = opened(text, "a.grad", beside={"loop": "\n\ndef train(loss):\n    loss.backward()\n"})
    assert page.locator(".story li button").all_inner_texts() == ["line 3", "line 4 of loop.py", "line 4 of loop.py", "line 5"]
    assert "in loop.py: keep it with `retain_graph=True` on line 4" in page.inner_text("details.fix[open] summary")
    page.locator(".story li button").nth(1).click()
    assert page.locator("select[aria-label=file] option:checked").inner_text() == "loop.py"
    assert "8 B" in page.locator("#line-4 td.freed").inner_text()
    page.locator("g.unit", has_text="ExpBackward0").click()
    assert "freed by line 4 of loop.py" in page.inner_text(".details")
    assert page.locator("#line-3 td.freed").inner_text() == ""
    assert page.locator("#line-4 td.freed").inner_text() == ""
    page.evaluate("gradsh.go({step: gradsh.state.run.steps.findIndex(one => one.kind === 'pass')})")
    assert "line 4 of loop.py: a backward pass begins" in words(page)
