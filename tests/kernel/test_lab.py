"""Cells typed in JupyterLab, in Chromium; skipped where a package of these is missing (`make lab` sets them up).

It waits for what the page shows, never for a time.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import BOUND, chromium
from tests.processes import program, wait_until

pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: `make lab`")
CELLS = ("x = ones(3, requires_grad=True)\nloss = x.exp().sum()\nloss", "graph loss", "buffers loss", "backward loss", "\nbackward loss")
SETTINGS = {
    "@jupyterlab/completer-extension/manager": {"providerTimeout": BOUND},  # else an answer that comes late on a busy machine is dropped
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
LOOKS = os.environ.get("GRADSH_LOOKS")
"""A folder for screenshots, to be looked at."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("lab")
    cells = [{"cell_type": "code", "id": f"c{at}", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
             for at, text in enumerate(CELLS)]
    spec = {"name": "gradsh", "display_name": "gradsh", "language": "grad"}
    found.joinpath("a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}))
    return found


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Serve JupyterLab with settings of its own, and the kernel."""
    for name, values in SETTINGS.items():
        path = folder / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    told = folder / "told"
    env = {**os.environ, "HOME": str(folder), "JUPYTER_PATH": str(folder / "share/jupyter"), "PYTHONUNBUFFERED": "1",
           "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
           **{f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}}
    subprocess.run([sys.executable, "-m", "gradsh", "kernel", "install", "--prefix", str(folder)], check=True, capture_output=True)
    command = ["-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--ServerApp.port_retries=0",
               "--IdentityProvider.token=look", f"--ServerApp.root_dir={folder}"]
    with told.open("w") as log, program(command, folder, env=env, stdout=log, stderr=log):
        wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+/lab", told.read_text()), "the server")
        yield re.findall(r"http://127\.0\.0\.1:\d+/lab", told.read_text())[0]


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Any]:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 1500})
        page.set_default_timeout(BOUND)
        page.goto(f"{address}/tree/a.ipynb?token=look&reset")
        page.wait_for_selector("text=gradsh | Idle")
        yield page


def look(page: Any, name: str) -> None:
    if LOOKS:
        page.screenshot(path=f"{LOOKS}/{name}.png")


def choose(page: Any, menu: str, entry: str) -> None:
    page.click(f".lm-MenuBar-itemLabel:text-is('{menu}')")
    page.click(f".lm-Menu-itemLabel:text-is('{entry}')")


def typed(page: Any, text: str) -> None:
    """Type into a new last cell."""
    page.locator(".jp-CodeCell .cm-content").last.click()
    for key in ("Escape", "b", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function("document.activeElement.closest('.jp-CodeCell') === [...document.querySelectorAll('.jp-CodeCell')].at(-1)")
    page.keyboard.type(text)


def shown(page: Any, cell: int) -> Any:
    return page.locator(".jp-CodeCell").nth(cell).locator(".jp-OutputArea")


def test_cells_show_drawings_tables_and_stories(page: Any) -> None:
    choose(page, "Run", "Run All Cells")
    story = shown(page, 4)
    story.get_by_text("needed again here").wait_for()
    assert "tensor(8.1548, grad_fn=<SumBackward0>)" in shown(page, 0).inner_text()
    assert shown(page, 1).locator("img, svg").count() == 1
    assert "line 2 of cell 1" in shown(page, 2).locator("table").inner_text()
    for place in ("cell 1:2:8", "cell 4:1:1", "cell 5:2:1"):
        assert place in story.inner_text()
    assert story.locator(".ansi-red-fg, .ansi-red-intense-fg, [class*=ansi-]").count() > 3
    assert "Traceback" not in story.inner_text()
    look(page, "cells")


def test_names_are_completed_and_looked_up(page: Any) -> None:
    typed(page, "los")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer", has_text="loss").get_by_text("() float32").wait_for()
    page.keyboard.press("Escape")
    typed(page, "buffers --")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer-match", has_text="live").first.wait_for()
    look(page, "completion")
    page.keyboard.press("Escape")
    typed(page, "buffers")
    page.keyboard.press("Shift+Tab")
    page.locator(".jp-Tooltip", has_text="List the tensors saved for backward").wait_for()
    look(page, "inspection")
    page.keyboard.press("Escape")


def test_an_interrupt_ends_the_cell_and_a_restart_forgets(page: Any) -> None:
    typed(page, "while True:\nx * 2")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=gradsh | Busy")
    choose(page, "Kernel", "Interrupt Kernel")
    page.locator(".jp-OutputArea", has_text="error[interrupt]").last.wait_for()
    look(page, "interrupt")
    typed(page, "x.sum()")
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea", has_text="tensor(3., grad_fn=<SumBackward0>)").last.wait_for()
    choose(page, "Kernel", "Restart Kernel…")
    page.click(".jp-Dialog-button.jp-mod-warn")
    page.wait_for_selector("text=gradsh | Idle")
    typed(page, "x.sum()")
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea", has_text="error[name]").last.wait_for()
    look(page, "restart")
