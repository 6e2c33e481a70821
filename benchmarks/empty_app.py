"""Run a Textual app that only shows a list of twenty lines. first_paint.py compares fcreview
with it.
"""

from textual.app import App, ComposeResult
from textual.widgets import OptionList


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield OptionList(*[f"line {n}" for n in range(20)])


if __name__ == "__main__":
    Empty().run()
