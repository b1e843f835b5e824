"""A session that is asked for reports."""

from gradsh.contracts.events import Failure, Result
from gradsh.render.style import Style
from gradsh.render.text import result_text
from gradsh.session.session import Session


class Asked:
    """Runs lines, and keeps what commands reported and what failed."""

    def __init__(self, text="", *, typed=False):
        self.session = Session(typed=typed)
        self.events = []
        if text:
            self.run(text)

    def run(self, text):
        self.events = []
        self.session.run(text, self.events.append, name="script", keep_going=True)
        return self

    def report(self, line):
        """The report of the last command of some lines."""
        self.run(line)
        assert not self.failures, self.failures
        return [event for event in self.events if isinstance(event, Result)][-1].report

    def shown(self, line):
        """The text of the last command of some lines."""
        self.run(line)
        assert not self.failures, self.failures
        return result_text([event for event in self.events if isinstance(event, Result)][-1], Style())

    @property
    def failures(self):
        return [event.problem for event in self.events if isinstance(event, Failure)]

    def __getitem__(self, name):
        return self.session.machine.program[name]
