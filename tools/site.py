"""The web site: mkdocs calls these hooks (`mkdocs.yml`). The README becomes the start page.

Links from the documents to other files of the repository, which the site does not have, become plain text.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the README as the start page, with links as seen from the folder of the documents."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with plain text in the place of links that leave the documents."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def inside(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        return match[0] if target.is_relative_to(ROOT / "docs") and target.exists() else match[1]

    return _LINK.sub(inside, markdown)
