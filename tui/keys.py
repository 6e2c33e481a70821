"""All key bindings, each with an id by which the config file's `[keys]` can give it other keys.

    [keys]
    "queue.open" = "enter,l"
    pass = "p,y"

Key lines and the help screen are made from the bindings, so they show what is in force. Keys are letters, digits,
arrows, Enter, Space and Tab: with Ctrl and Alt many clash with tmux, flow control or the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from textual.binding import Binding

if TYPE_CHECKING:
    from textual.screen import Screen


def _key(name: str, keys: str, action: str, says: str, *, shown: bool = True, priority: bool = False) -> Binding:
    return Binding(keys, action, says, show=shown, id=name, priority=priority)


APP = [
    _key("app.help", "question_mark", "app.help", "help"),
    _key("app.quit", "ctrl+q,ctrl+c", "app.quit", "quit", shown=False, priority=True),
]

MOVE = [
    _key("list.down", "j,down", "move(1)", "next line", shown=False),
    _key("list.up", "k,up", "move(-1)", "previous line", shown=False),
    _key("list.page_down", "pagedown,space", "move_page(1)", "page down", shown=False),
    _key("list.page_up", "pageup", "move_page(-1)", "page up", shown=False),
    _key("list.first", "home", "move_to(0)", "first line", shown=False),
    _key("list.last", "end", "move_to(-1)", "last line", shown=False),
]

QUEUE = [
    _key("queue.open", "enter", "open", "open"),
    _key("queue.search", "slash", "search", "search"),
    _key("queue.filter", "f", "filter", "filter"),
    _key("queue.clear", "F,backspace", "clear_filter", "all items"),
    _key("queue.order", "o", "order", "order"),
    _key("queue.clusters", "c", "clusters", "clusters"),
    _key("queue.runs", "r", "runs", "runs"),
    _key("queue.issues", "i", "issues", "issues"),
    _key("queue.quit", "q", "app.quit", "quit"),
]

PICKER = [
    _key("picker.take", "enter", "take", "take"),
    _key("picker.close", "q,escape", "close", "back"),
]

CLUSTERS = [
    _key("clusters.take", "enter", "take", "show its items"),
    _key("clusters.unfold", "right,l", "unfold(True)", "unfold", priority=True),
    _key("clusters.refold", "left,h", "unfold(False)", "fold", priority=True),
    _key("clusters.grouping", "tab", "grouping", "other grouping"),
    _key("clusters.close", "q,escape", "close", "back"),
]

HELP = [
    _key("help.close", "q,escape,enter,question_mark", "close", "back"),
]

FILTER_INPUT = [
    _key("filter.apply", "enter", "submit", "apply"),
]

FILTER = [
    _key("filter.cancel", "escape", "cancel", "cancel"),
]

ITEM = [
    _key("item.pass", "p", "verdict('pass')", "pass"),
    _key("item.fail", "f", "verdict('fail')", "fail"),
    _key("item.golden_wrong", "g", "verdict('golden')", "golden wrong"),
    _key("item.unsure", "u", "verdict('unsure')", "unsure"),
    _key("item.fault", "w", "fault", "who's wrong"),
    _key("item.tag", "e", "tag", "tag"),
    _key("item.note", "n", "note", "note"),
    _key("item.undo", "z", "undo", "undo"),
    _key("item.score", "0", "score(0)", "score 0", shown=False),
    _key("item.score_1", "1", "score(1)", "score 1", shown=False),
    _key("item.score_2", "2", "score(2)", "score 2", shown=False),
    _key("item.target", "T", "target", "verdict on the item, or on what the cursor is on", shown=False),
    _key("item.next", "right_square_bracket", "step(1)", "next"),
    _key("item.previous", "left_square_bracket", "step(-1)", "previous"),
    _key("item.down", "j", "move(1)", "next call or text", shown=False),
    _key("item.up", "k", "move(-1)", "previous call or text", shown=False),
    _key("item.line_down", "down", "scroll(1)", "scroll down a line", shown=False),
    _key("item.line_up", "up", "scroll(-1)", "scroll up a line", shown=False),
    _key("item.next_turn", "J", "turn(1)", "next turn", shown=False),
    _key("item.previous_turn", "K", "turn(-1)", "previous turn", shown=False),
    _key("item.arguments", "a,tab", "arguments", "move among arguments", shown=False),
    _key("item.page_down", "pagedown", "page(1)", "page down", shown=False),
    _key("item.page_up", "pageup", "page(-1)", "page up", shown=False),
    _key("item.top", "home", "edge(-1)", "to the top", shown=False),
    _key("item.bottom", "end", "edge(1)", "to the end", shown=False),
    _key("item.difference", "full_stop", "difference", "first difference", shown=False),
    _key("item.fold", "enter,space", "fold", "fold, unfold or open long text", shown=False),
    _key("item.search", "slash", "search", "search in the item", shown=False),
    _key("item.again", "N", "search_again", "next match", shown=False),
    _key("item.dialogue", "t", "dialogue", "full dialogue", shown=False),
    _key("item.document", "d", "document", "function document", shown=False),
    _key("item.raw", "R", "raw", "raw records", shown=False),
    _key("item.copy", "y", "copy", "copy", shown=False),
    _key("item.back", "q,escape,backspace", "back", "back to the queue", shown=False),
]

PAGER = [
    _key("pager.close", "q,escape", "close", "back"),
    _key("pager.search", "slash", "search", "search"),
    _key("pager.again", "n,enter", "search_again(1)", "next match"),
    _key("pager.before", "N", "search_again(-1)", "previous match"),
    _key("pager.raw", "r", "raw", "as it came"),
    _key("pager.down", "j,down", "scroll(1)", "line down", shown=False),
    _key("pager.up", "k,up", "scroll(-1)", "line up", shown=False),
    _key("pager.page_down", "space,pagedown", "page(1)", "page down", shown=False),
    _key("pager.page_up", "pageup", "page(-1)", "page up", shown=False),
    _key("pager.top", "home", "edge(-1)", "to the top", shown=False),
    _key("pager.bottom", "end", "edge(1)", "to the end", shown=False),
    _key("pager.copy", "y", "copy", "copy", shown=False),
]

ASK = [
    _key("ask.cancel", "escape", "cancel", "cancel"),
]

FAULT = [
    _key("fault.model", "m", "take('model')", "model"),
    _key("fault.golden", "g", "take('golden')", "golden"),
    _key("fault.checker", "c", "take('checker')", "checker"),
    _key("fault.judge", "j", "take('judge')", "judge"),
    _key("fault.simulator", "s", "take('simulator')", "simulator"),
    _key("fault.question", "q", "take('question')", "question"),
    _key("fault.cancel", "escape", "cancel", "back"),
]

TAGS = [
    _key("tags.save", "enter", "save", "save"),
    _key("tags.toggle", "space", "set", "set or clear"),
    _key("tags.new", "n,slash", "new", "new tag"),
    _key("tags.down", "j,down", "move(1)", "down", shown=False),
    _key("tags.up", "k,up", "move(-1)", "up", shown=False),
    _key("tags.cancel", "q,escape", "cancel", "cancel"),
]

TABLES: dict[str, list[Binding]] = {
    "app": APP,
    "list": MOVE,
    "queue": QUEUE,
    "picker": PICKER,
    "clusters": CLUSTERS,
    "help": HELP,
    "filter": FILTER + FILTER_INPUT,
    "item": ITEM,
    "pager": PAGER,
    "ask": ASK,
    "fault": FAULT,
    "tags": TAGS,
}
"""Every table by the first part of its ids."""
COMMON = ("list", "app")
"""Rooms of keys that many screens share: they come last in the help."""

NAMES = {
    "question_mark": "?",
    "slash": "/",
    "full_stop": ".",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "home": "Home",
    "end": "End",
    "enter": "enter",
    "space": "space",
    "tab": "tab",
    "backspace": "backspace",
    "down": "down",
    "up": "up",
    "left": "left",
    "right": "right",
}


class KeymapError(Exception):
    """The config file's keys cannot be used; the text says why in one line."""


def key_name(key: str) -> str:
    """A key as a person writes it: `?`, `PgDn`, `^q`. Upper-case letters stay upper-case."""
    *modifiers, last = key.split("+")
    if last.startswith("upper_"):
        last = last[6:].upper()
    name = NAMES.get(last, last)
    return "".join("^" if part == "ctrl" else f"{part}+" for part in modifiers) + name


def key_hints(screen: Screen[Any]) -> list[tuple[str, str]]:
    """(key, what it does) of the screen's shown bindings that are in force, the first key of each. In the order of the
    tables, keys of the whole app last."""
    hints: dict[str, tuple[str, str]] = {}
    for _, binding, enabled, _ in screen.active_bindings.values():
        if binding.show and enabled and binding.description:
            hints.setdefault(binding.id or binding.action, (key_name(binding.key), binding.description))
    places = {name: (name.startswith("app."), at) for at, name in enumerate(binding_ids())}
    return [hints[name] for name in sorted(hints, key=lambda name: places.get(name, (True, 0)))]


def key_table(screen: Screen[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """For the help: (room, [(keys, what they do)]) of every binding in force, rooms by the first part of the ids."""
    rooms: dict[str, dict[str, tuple[list[str], str]]] = {}
    for _, binding, _, _ in screen.active_bindings.values():
        if binding.id is None or not binding.description:
            continue
        room = rooms.setdefault(binding.id.partition(".")[0], {})
        room.setdefault(binding.id, ([], binding.description))[0].append(key_name(binding.key))
    return [
        (room, [(" ".join(sorted(keys, key=len)), says) for keys, says in of.values()])
        for room, of in sorted(rooms.items(), key=lambda entry: COMMON.index(entry[0]) if entry[0] in COMMON else -1)
    ]


def binding_ids(tables: Iterable[list[Binding]] = TABLES.values()) -> list[str]:
    return list(dict.fromkeys(binding.id for table in tables for binding in table if binding.id))


def keymap(wanted: Mapping[str, str]) -> dict[str, str]:
    """`{binding id: "key,key"}` for Textual from the config file's `[keys]`.

    An id may be given without its room where that is clear (`pass` for `item.pass`). Raises KeymapError for an id that
    does not exist or is in several rooms, and for keys that are empty.
    """
    made: dict[str, str] = {}
    for name, keys in wanted.items():
        found = [known for known in binding_ids() if name in (known, known.partition(".")[2])]
        if not found:
            raise KeymapError(f"[keys] {name}: there is no such key binding")
        if len(found) > 1:
            raise KeymapError(f"[keys] {name}: one of {', '.join(found)}")
        if not all(part.strip() for part in keys.split(",")):
            raise KeymapError(f'[keys] {name}: must be keys such as "p" or "p,y"')
        made[found[0]] = keys
    return made
