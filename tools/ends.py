"""`python -m tools.ends oldest|newest`: constraints for pip, at one end of the ranges that pyproject.toml admits.

What only development needs keeps the versions of constraints.txt.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def constraints(end: str) -> list[str]:
    """Return the lines for `oldest` or `newest`, where pip itself takes the newest of what is not constrained."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lowest = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in required)
    development = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.split("==")[0] not in lowest]
    return development + [f"{name}=={version}" for name, version in lowest.items() if end == "oldest"]


if __name__ == "__main__":
    print("\n".join(constraints(sys.argv[1])))
