"""The tables of `keytable` as Textual's bindings, and what is in force on a screen: key lines, hints, the help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.binding import Binding, BindingType

from fcreview.tui.actions import ACTIONS, COMMON, ITEM, QUEUE, Action
from fcreview.tui.keymap import NO_KEY, first_keys, key_name, split

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode
    from textual.screen import Screen


def bindings(*tables: Sequence[Action]) -> list[BindingType]:
    return [
        Binding(action.keys, action.does, action.says, show=action.shown, id=action.id, priority=action.priority)
        for table in tables
        for action in table
    ]


def _active(screen: Screen[Any]) -> list[Binding]:
    """What is bound and allowed here, innermost first. A screen's `idle_keys` are actions that would only say why they
    do nothing."""
    idle: frozenset[str] = getattr(screen, "idle_keys", frozenset())
    every = [each.binding for each in screen.active_bindings.values() if each.enabled]
    return [binding for binding in every if binding.key != NO_KEY and binding.id not in idle]


def key_hints(screen: Screen[Any]) -> list[tuple[str, str]]:
    """(key, what it does) of the screen's shown bindings that are in force, the first key of each. In the order of the
    tables, keys of the whole app last."""
    hints: dict[str, tuple[str, str]] = {}
    for binding in _active(screen):
        if binding.show and binding.description:
            hints.setdefault(binding.id or binding.action, (key_name(binding.key), binding.description))
    places = {name: (name.startswith("app."), at) for at, name in enumerate(ACTIONS)}
    return [hints[name] for name in sorted(hints, key=lambda name: places.get(name, (True, 0)))]


@dataclass(frozen=True, slots=True)
class Doable:
    """An action that is in force on a screen: what its key would do there."""

    id: str
    key: str
    says: str
    action: str
    node: DOMNode
    """Whose action it is."""

    @property
    def shared(self) -> bool:
        """With many screens."""
        return self.id.partition(".")[0] in COMMON

    def do(self) -> None:
        """As the key would, behind keys that were pressed before."""
        self.node.call_later(self.node.app.run_action, self.action, self.node)


def doable(screen: Screen[Any]) -> list[Doable]:
    """Every action in force, once, by its first key, in the order of the tables."""
    nodes = {(each.binding.id, each.binding.key): each.node for each in screen.active_bindings.values()}
    found: dict[str, Doable] = {}
    for binding in _active(screen):
        if binding.id in ACTIONS:
            node = nodes[binding.id, binding.key]
            made = Doable(binding.id, key_name(binding.key), binding.description, binding.action, node)
            found.setdefault(binding.id, made)
    return [found[name] for name in ACTIONS if name in found]


def key_names(app: App[Any]) -> Mapping[str, str]:
    """The first key in force of each action, by its id; see `keymap.first_keys`."""
    return first_keys(frozenset(app._keymap.items()))


def keys_of(app: App[Any], table: Sequence[Action]) -> set[str]:
    """All keys in force of these actions, as Textual names them."""
    return {key for action in table for key in split(app._keymap.get(action.id, action.keys))}


def no_key(app: App[Any], key: str) -> str:
    """Why a key does nothing where the queue's and an item's are not in force: whose it is. `key`: as Textual names
    it."""
    named, help_key = key_name(key), key_names(app).get("app.help", "")
    lists = f"; {help_key} lists those here" if help_key else ""
    for table, place in ((QUEUE, "the queue"), (ITEM, "an item")):
        for action in table:
            if key in keys_of(app, [action]):
                return f"{named} ({action.says}) is a key of {place}{lists}"
    return f"{named} is no key here{lists}"


def key_table(screen: Screen[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """For the help: (room, [(keys, what they do)]) of every binding in force, rooms by the first part of the ids."""
    keys: dict[str, list[str]] = {}
    for binding in _active(screen):
        keys.setdefault(binding.id or "", []).append(key_name(binding.key))
    rooms: dict[str, list[tuple[str, str]]] = {}
    for action in ACTIONS.values():
        if action.id in keys:
            room = rooms.setdefault(action.id.partition(".")[0], [])
            room.append((" ".join(sorted(keys[action.id], key=len)), action.helps or action.says))
    return sorted(rooms.items(), key=lambda entry: COMMON.index(entry[0]) if entry[0] in COMMON else -1)
