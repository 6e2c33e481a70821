"""The yardstick of first paint: a Textual app with nothing but a list of twenty lines."""

from textual.app import App, ComposeResult
from textual.widgets import OptionList


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield OptionList(*[f"line {n}" for n in range(20)])


if __name__ == "__main__":
    Empty().run()
