"""Make Textual bindings from the tables in `actions`, and find the keys that are active on a screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.binding import Binding, BindingType

from fcreview.tui.actions import ACTIONS, ITEM_ACTIONS, OVERVIEW_ACTIONS, QUEUE_ACTIONS, SHARED_GROUPS, Action
from fcreview.tui.keymap import NO_KEY, first_key_names, format_key, split_keys

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode
    from textual.screen import Screen


def make_bindings(*tables: Sequence[Action]) -> list[BindingType]:
    """Convert tables of actions to Textual bindings with the default keys."""
    return [
        Binding(action.keys, action.action, action.label, show=action.has_hint, id=action.id, priority=action.priority)
        for table in tables
        for action in table
    ]


_RANKS = {name: (name.startswith("app."), rank) for rank, name in enumerate(ACTIONS)}


def _active_bindings(screen: Screen[Any]) -> list[Binding]:
    """Return the enabled bindings of a screen, starting with the bindings of the focused widget.

    Actions in the screen's `idle_actions` are omitted, because pressing their keys only shows why nothing can be done.
    """
    idle: frozenset[str] = getattr(screen, "idle_actions", frozenset())
    enabled = [active.binding for active in screen.active_bindings.values() if active.enabled]
    return [binding for binding in enabled if binding.key != NO_KEY and binding.id not in idle]


def key_hints(screen: Screen[Any]) -> list[tuple[str, str]]:
    """Return (first key, label) of each active action for the key line.

    The hints are in the order of the action tables. Actions of the app come last.
    """
    hints: dict[str, tuple[str, str]] = {}
    for binding in _active_bindings(screen):
        if binding.show and binding.description:
            hints.setdefault(binding.id or binding.action, (format_key(binding.key), binding.description))
    return [hints[name] for name in sorted(hints, key=lambda name: _RANKS.get(name, (True, 0)))]


@dataclass(frozen=True, slots=True)
class AvailableAction:
    """Action that is active on a screen."""

    id: str
    key: str
    label: str
    action: str
    node: DOMNode
    """Widget, screen or app that runs the action."""

    @property
    def is_shared(self) -> bool:
        """Whether the action belongs to one of the `SHARED_GROUPS`."""
        return self.id.partition(".")[0] in SHARED_GROUPS

    def run(self) -> None:
        """Run the action after all keys that were pressed earlier, like a press of its key."""
        self.node.call_later(self.node.app.run_action, self.action, self.node)


def available_actions(screen: Screen[Any]) -> list[AvailableAction]:
    """Return every active action once, with its first key, in the order of the action tables."""
    nodes = {(active.binding.id, active.binding.key): active.node for active in screen.active_bindings.values()}
    actions: dict[str, AvailableAction] = {}
    for binding in _active_bindings(screen):
        if binding.id in ACTIONS and binding.id not in actions:
            node = nodes[binding.id, binding.key]
            key = format_key(binding.key)
            actions[binding.id] = AvailableAction(binding.id, key, binding.description, binding.action, node)
    return [actions[name] for name in ACTIONS if name in actions]


def active_key_names(app: App[Any]) -> Mapping[str, str]:
    """Return the displayed name of the first active key of each action, by action id."""
    return first_key_names(frozenset(app._keymap.items()))


def welcome_message(app: App[Any]) -> str:
    """Return the welcome message of the first start. It names up to three keys."""
    names = active_key_names(app)
    hints = {"queue.open": "to open", "app.help": "for all keys", "app.palette": "for commands"}
    shown = [f"{names[action]} {what}" for action, what in hints.items() if action in names]
    return f"Welcome. Press {', '.join(shown)}"


def find_keys(app: App[Any], actions: Sequence[Action]) -> set[str]:
    """Return all keys of these actions in Textual's notation. Configured keys replace the default keys."""
    return {key for action in actions for key in split_keys(app._keymap.get(action.id, action.keys))}


_PLACES = ((QUEUE_ACTIONS, "in the queue"), (OVERVIEW_ACTIONS, "on the overview"), (ITEM_ACTIONS, "on an item"))


def unavailable_key_message(app: App[Any], key: str, open_key: str = "") -> str:
    """Return the message for a key (in Textual's notation) that has no action on the current screen.

    The message says whether the key works in the queue, on the overview or on an item. `open_key`: key that opens the
    item under the cursor, if there is one.
    """
    labels = {
        place: action.label for table, place in _PLACES for action in reversed(table) if key in find_keys(app, [action])
    }
    help_key = active_key_names(app).get("app.help", "")
    help_hint = f"; press {help_key} for help" if help_key else ""
    message = _describe_screens(format_key(key), labels, open_key, help_hint)
    if len(message) > app.size.width - 2:
        message = _describe_screens(format_key(key), dict.fromkeys(labels, ""), open_key, help_hint)
    return message


def _describe_screens(key_name: str, label_by_screen: Mapping[str, str], open_key: str, help_hint: str) -> str:
    """Describe where the key `key_name` works. `label_by_screen`: place -> label of its action there, empty to omit the
    labels."""
    label = next(iter(label_by_screen.values()), "")
    if open_key and "on an item" in label_by_screen:
        key = _append_label(key_name, label_by_screen["on an item"])
        return f"{key} works on an item; press {open_key} to open the item"
    if len({*label_by_screen.values()}) > 1:
        *first, last = (_append_label(place, label) for place, label in label_by_screen.items())
        return f"{key_name} works {', '.join(first)} and {last}"
    if label_by_screen:
        return f"{_append_label(key_name, label)} works {' and '.join(label_by_screen)}{help_hint}"
    return f"{key_name} is not available here{help_hint}"


def _append_label(text: str, label: str) -> str:
    return f"{text} ({label})" if label else text


def help_key_table(screen: Screen[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (group, [(keys, help text)]) of the active actions for the help screen.

    A group is the first part of the action ids. Groups that many screens share come last.
    """
    keys: dict[str, list[str]] = {}
    for binding in _active_bindings(screen):
        keys.setdefault(binding.id or "", []).append(format_key(binding.key))
    groups: dict[str, list[tuple[str, str]]] = {}
    for action in ACTIONS.values():
        if action.id in keys:
            rows = groups.setdefault(action.id.partition(".")[0], [])
            rows.append((" ".join(sorted(keys[action.id], key=len)), action.help or action.label))
    return sorted(groups.items(), key=lambda entry: SHARED_GROUPS.index(entry[0]) if entry[0] in SHARED_GROUPS else -1)
