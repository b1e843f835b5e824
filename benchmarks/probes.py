"""How long the commands that look at graphs take on a graph of 100,000 nodes; each is meant to answer within a second.

    python -m benchmarks.probes [COMMAND ...]
"""

import gc
import sys
import time

from gradsh.contracts.events import Result
from gradsh.render.style import Style
from gradsh.render.text import result_text
from gradsh.session.session import Session

SCRIPT = """
w = ones(3, requires_grad=True)
h = w * 1
for i in range(25000):
    h = (h * w + w).tanh() * 0.5

"""
COMMANDS = (
    "graph h", "graph h --expand", "buffers h", "buffers h --by line", "memory", "plan h --grad ones(3)", "holders h", "why h",
    "leaks", "diff",
)


def main(commands: tuple[str, ...]) -> None:
    """Print the seconds of processor time that each command takes, its text included."""
    gc.set_threshold(50_000, 50, 1000)  # as a run has it
    session = Session()
    session.run(SCRIPT, lambda _: None)
    for command in commands:
        events: list[object] = []
        begun = time.process_time()
        session.run(command, events.append)
        for event in events:
            if isinstance(event, Result):
                result_text(event, Style())
        print(f"{time.process_time() - begun:6.2f} s  {command}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or COMMANDS)
