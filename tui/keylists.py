"""What an action is, and the keys of lists that are searched by typing; `keytable` has all others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    id: str
    """`room.name`: what a configuration file calls it. The help shows rooms one below the other."""
    keys: str
    """Unless others are given: `p` or `j,down`, as Textual names them."""
    does: str
    """The action method with its arguments: `verdict('pass')`."""
    says: str
    shown: bool = True
    """In the key line; the help shows all."""
    helps: str = ""
    """What the help says of it, where one word does not tell."""
    priority: bool = False
    """At once, whatever has the focus; other keys pressed before may still be on their way."""


PALETTE = [
    Action("palette.take", "enter", "screen.take", "choose"),
    Action("palette.complete", "tab", "screen.complete", "complete"),
    Action("palette.down", "down", "screen.move(1)", "down", shown=False),
    Action("palette.up", "up", "screen.move(-1)", "up", shown=False),
    Action("palette.page_down", "pagedown", "screen.page(1)", "page down", shown=False),
    Action("palette.page_up", "pageup", "screen.page(-1)", "page up", shown=False),
    Action("palette.close", "escape", "screen.close", "back"),
]
"""All other keys type."""

PICKER = [
    Action("picker.take", "enter", "take", "show"),
    Action("picker.close", "q,escape", "close", "back"),
]

RUNS = [
    *PICKER,
    Action("runs.order", "s", "order", "order"),
    Action("runs.reverse", "S", "reverse", "reverse", shown=False),
    Action("runs.grouping", "tab", "grouping", "group"),
    Action("runs.find", "slash", "find", "find"),
    Action("runs.compare", "x", "mark", "compare", helps="compare two runs: mark one, then another"),
    Action("runs.unfold", "right,l", "unfold(True)", "unfold", shown=False),
    Action("runs.refold", "left,h", "unfold(False)", "fold", shown=False),
]

FIND = [
    Action("find.done", "enter", "screen.found(True)", "done"),
    Action("find.down", "down", "screen.move(1)", "down", shown=False),
    Action("find.up", "up", "screen.move(-1)", "up", shown=False),
    Action("find.cancel", "escape", "screen.found(False)", "all runs"),
]
"""All other keys type."""
