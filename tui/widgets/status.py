"""The lines around a list: the key line, made from the bindings that are in force."""

from __future__ import annotations

from fcreview.tui.keys import key_hints
from fcreview.tui.text.format import hints_line
from fcreview.tui.widgets.document import LineBar

LAST = ("quit", "palette", "help")


class KeyLine(LineBar):
    """The last hints (`always` of them) are shown however little room there is."""

    def __init__(self, *, always: int = 2, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._always = always
        self._offered: list[tuple[str, str]] = []

    def update(self) -> None:
        hints = [*self._offered, *key_hints(self.screen)]
        hints.sort(key=lambda hint: LAST.index(hint[1]) if hint[1] in LAST else -1)
        always = self._always + any(says == "palette" for _, says in hints)
        self.show(hints_line(hints, self.size.width, always))

    def offer(self, hints: list[tuple[str, str]]) -> None:
        """(key, what it says) of keys that matter now: they stand first."""
        if hints != self._offered:
            self._offered = hints
            self.update()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.update())

    def on_resize(self) -> None:
        self.update()
