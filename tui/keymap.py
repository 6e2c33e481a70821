"""Apply the configured keys, make Textual bindings, and find and format the keys that are active on
a screen.

Checking a configuration file does not import Textual.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.tui.actions import (
    ACTIONS,
    ITEM_ACTIONS,
    KEY_SCOPES,
    OVERVIEW_ACTIONS,
    QUEUE_ACTIONS,
    SHARED_GROUPS,
    Action,
)

if TYPE_CHECKING:
    from textual.app import App
    from textual.binding import Binding, BindingType
    from textual.dom import DOMNode
    from textual.screen import Screen

    from fcreview.tui.text.lines import KeyHint

NO_KEY = "no_key"
"""Key name for an action whose only key was assigned to another action.

No terminal sends this key.
"""
TEXTUAL_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Maps the Unicode name of a character to its name in Textual, where the names differ."""
NAMED_KEYS = {
    *(
        "enter",
        "escape",
        "space",
        "tab",
        "backspace",
        "delete",
        "insert",
        "up",
        "down",
        "left",
        "right",
    ),
    *("home", "end", "pageup", "pagedown", *(f"f{number}" for number in range(1, 25))),
}
MODIFIERS = {"ctrl", "shift", "alt"}
DISPLAY_NAMES = {
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "home": "Home",
    "end": "End",
}


class KeymapError(Exception):
    """Raised when the configured keys are invalid. The message is one line."""


def _find_textual_key_name(char: str) -> str:
    name = unicodedata.name(char).lower().replace("-", "_").replace(" ", "_")
    return TEXTUAL_NAMES.get(name, name)


PUNCTUATION = {_find_textual_key_name(char): char for char in string.punctuation}
"""Maps Textual's name of a punctuation character to the character, such as `question_mark` to
`?`.
"""


def validate_keymap(configured_keys: Mapping[str, str]) -> dict[str, str]:
    """Validate the `[keys]` section of a configuration file and return `{action id: "key,key"}`.

    The section may omit the group of an id if the name is unique: `pass` for `item.pass`.

    Raises:
        KeymapError: An id is unknown or ambiguous, a key is empty or invalid, or two actions that
        are active at the
            same time have the same key.
    """
    keys_by_action: dict[str, str] = {}
    for name, keys in configured_keys.items():
        action = _resolve_action_id(name)
        if action in keys_by_action:
            raise KeymapError(f"[keys] {name}: {action} is set twice")
        if not all(part.strip() for part in keys.split(",")):
            raise KeymapError(f'[keys] {name}: expected keys such as "p" or "p,y"')
        invalid = next((key for key in split_keys(keys) if not _is_valid_key(key)), None)
        if invalid is not None:
            names = ", ".join(sorted(NAMED_KEYS))
            raise KeymapError(
                f'[keys] {name}: "{invalid}" is not a key. Use a character or one of {names}'
            )
        keys_by_action[action] = keys
    _check_key_conflicts(keys_by_action)
    return keys_by_action


def find_changed_keys(valid_keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that differ from the defaults, by action id: the configured keys, and the
    remaining keys of actions that lost a default key to another action.

    `valid_keys`: result of `validate_keymap`.
    """
    keys_by_action = {name: ",".join(split_keys(keys)) for name, keys in valid_keys.items()}
    for scope in KEY_SCOPES:
        reassigned = {
            key
            for action in scope
            if action.id in valid_keys
            for key in split_keys(valid_keys[action.id])
        }
        for action in scope:
            keys = split_keys(keys_by_action.get(action.id, action.keys))
            if action.id not in valid_keys and reassigned & set(keys):
                keys_by_action[action.id] = (
                    ",".join(key for key in keys if key not in reassigned) or NO_KEY
                )
    return keys_by_action


def split_keys(keys: str) -> list[str]:
    """Split `"p,/"` into key names in Textual's notation, such as `slash` for `/`."""
    stripped = [key.strip() for key in keys.split(",")]
    return [
        _find_textual_key_name(key) if len(key) == 1 and not key.isalnum() else key
        for key in stripped
    ]


def format_key(key: str) -> str:
    """Return the displayed name of a key, such as `?`, `PgDn` or `^q`.

    Upper-case letters keep their case.
    """
    *modifiers, last = key.split("+")
    last = last[6:].upper() if last.startswith("upper_") else last
    name = PUNCTUATION.get(last) or DISPLAY_NAMES.get(last, last)
    return "".join("^" if part == "ctrl" else f"{part}+" for part in modifiers) + name


@lru_cache(maxsize=4)
def format_first_keys(changed_keys: frozenset[tuple[str, str]] = frozenset()) -> Mapping[str, str]:
    """Return the displayed name of the first key of each action, by action id. Actions without a
    key are omitted.

    `changed_keys`: (action id, keys) pairs of the result of `find_changed_keys`.
    """
    keys_by_action = {action.id: action.keys for action in ACTIONS.values()} | dict(changed_keys)
    first = {name: split_keys(keys)[0] for name, keys in keys_by_action.items()}
    return {name: format_key(key) for name, key in first.items() if key != NO_KEY}


def _is_valid_key(key: str) -> bool:
    *modifiers, last = key.split("+")
    valid = (len(last) == 1 and last.isprintable()) or last in PUNCTUATION or last in NAMED_KEYS
    return valid and set(modifiers) <= MODIFIERS


def _resolve_action_id(configured_name: str) -> str:
    """Return the full id of an action. `configured_name` may lack the group."""
    matches = [
        action for action in ACTIONS if configured_name in (action, action.partition(".")[2])
    ]
    if not matches:
        raise KeymapError(
            f"[keys] {configured_name}: unknown action. {_format_action_id_hint(configured_name)}"
        )
    if len(matches) > 1:
        raise KeymapError(
            f"[keys] {configured_name}: the action name is ambiguous. Use one of"
            f" {', '.join(matches)}"
        )
    return matches[0]


def _format_action_id_hint(name: str) -> str:
    """Return a hint for an unknown id: similar ids, else the actions of its group, else one id
    of each group.
    """
    if similar := get_close_matches(name, ACTIONS, n=3, cutoff=0.8):
        return f"Did you mean {' or '.join(similar)}?"
    groups: dict[str, list[str]] = {}
    for action in ACTIONS:
        group, _, short_name = action.partition(".")
        groups.setdefault(group, []).append(short_name)
    group = name.partition(".")[0]
    if group in groups:
        return f"Actions of {group}: {', '.join(groups[group])}"
    examples = ", ".join(f"{group}.{names[0]}" for group, names in groups.items())
    return f"Examples: {examples}. Press ? in fcreview for all actions"


def _check_key_conflicts(configured_keys: Mapping[str, str]) -> None:
    for scope in KEY_SCOPES:
        owners: dict[str, str] = {}
        for action in scope:
            for key in (
                dict.fromkeys(split_keys(configured_keys[action.id]))
                if action.id in configured_keys
                else ()
            ):
                if key in owners:
                    raise KeymapError(
                        f'[keys] "{format_key(key)}" is assigned to both {owners[key]} and'
                        f" {action.id}"
                    )
                owners[key] = action.id


def make_bindings(*tables: Sequence[Action]) -> list[BindingType]:
    """Convert tables of actions to Textual bindings with the default keys."""
    from textual.binding import Binding

    return [
        Binding(
            action.keys,
            action.action,
            action.label,
            show=action.has_hint,
            id=action.id,
            priority=action.priority,
        )
        for table in tables
        for action in table
    ]


_RANKS = {name: (name.startswith("app."), rank) for rank, name in enumerate(ACTIONS)}


def _list_active_bindings(screen: Screen[Any]) -> list[Binding]:
    """Return the enabled bindings of a screen, starting with the bindings of the focused widget.

    The screen's `hidden_actions` are omitted, because their keys only show a message that nothing
    can be done.
    """
    idle: frozenset[str] = getattr(screen, "hidden_actions", frozenset())
    enabled = [active.binding for active in screen.active_bindings.values() if active.enabled]
    return [binding for binding in enabled if binding.key != NO_KEY and binding.id not in idle]


def list_key_hints(screen: Screen[Any]) -> list[KeyHint]:
    """Return the hints of the key line in the order of the action tables.

    Actions of the app come last.
    """
    hints: dict[str, KeyHint] = {}
    for binding in _list_active_bindings(screen):
        if binding.show and binding.description:
            hints.setdefault(
                binding.id or binding.action, (format_key(binding.key), binding.description)
            )
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
    def is_in_shared_group(self) -> bool:
        return self.id.partition(".")[0] in SHARED_GROUPS

    def run_after_keys(self) -> None:
        """Run the action after all keys that were pressed earlier, like a press of its key."""
        self.node.call_later(self.node.app.run_action, self.action, self.node)


def list_available_actions(screen: Screen[Any]) -> list[AvailableAction]:
    """Return each active action with its first key, in the order of the action tables."""
    nodes = {
        (active.binding.id, active.binding.key): active.node
        for active in screen.active_bindings.values()
    }
    actions: dict[str, AvailableAction] = {}
    for binding in _list_active_bindings(screen):
        if binding.id in ACTIONS and binding.id not in actions:
            node = nodes[binding.id, binding.key]
            key = format_key(binding.key)
            actions[binding.id] = AvailableAction(
                binding.id, key=key, label=binding.description, action=binding.action, node=node
            )
    return [actions[name] for name in ACTIONS if name in actions]


def find_action_key_names(app: App[Any]) -> Mapping[str, str]:
    """Return the displayed name of each action's first key, by action id."""
    return format_first_keys(frozenset(app._keymap.items()))


def format_welcome_message(app: App[Any]) -> str:
    """Return the welcome message of the first start. It names up to three keys."""
    names = find_action_key_names(app)
    hints = {"queue.open": "to open", "app.help": "for all keys", "app.palette": "for commands"}
    shown = [f"{names[action]} {what}" for action, what in hints.items() if action in names]
    return f"Welcome. Press {', '.join(shown)}"


def list_keys(app: App[Any], actions: Sequence[Action]) -> set[str]:
    """Return all keys of these actions in Textual's notation.

    Configured keys replace the default keys.
    """
    return {
        key for action in actions for key in split_keys(app._keymap.get(action.id, action.keys))
    }


_PLACES = (
    (QUEUE_ACTIONS, "in the queue"),
    (OVERVIEW_ACTIONS, "on the overview"),
    (ITEM_ACTIONS, "on an item"),
)


def format_unavailable_key_message(app: App[Any], key: str, open_item_key: str = "") -> str:
    """Return the message for a key (in Textual's notation) that has no action on the current
    screen.

    The message says whether the key works in the queue, on the overview or on an item.
    `open_item_key`: displayed name of the key that opens the item under the cursor. Empty if there
    is no item.
    """
    labels = {
        place: action.label
        for table, place in _PLACES
        for action in reversed(table)
        if key in list_keys(app, [action])
    }
    help_key = find_action_key_names(app).get("app.help", "")
    help_hint = f"; press {help_key} for help" if help_key else ""
    message = _describe_where_key_works(format_key(key), labels, open_item_key, help_hint)
    if len(message) > app.size.width - 2:
        message = _describe_where_key_works(
            format_key(key), dict.fromkeys(labels, ""), open_item_key, help_hint
        )
    return message


def _describe_where_key_works(
    key_name: str, label_by_place: Mapping[str, str], open_item_key: str, help_hint: str
) -> str:
    """Return `f (fail) works on an item`.

    `label_by_place`: label of the key's action by place, empty to omit it.
    """
    label = next(iter(label_by_place.values()), "")
    if open_item_key and "on an item" in label_by_place:
        key = _append_label(key_name, label_by_place["on an item"])
        return f"{key} works on an item; press {open_item_key} to open the item"
    if len({*label_by_place.values()}) > 1:
        *first, last = (_append_label(place, label) for place, label in label_by_place.items())
        return f"{key_name} works {', '.join(first)} and {last}"
    if label_by_place:
        return f"{_append_label(key_name, label)} works {' and '.join(label_by_place)}{help_hint}"
    return f"{key_name} is not available here{help_hint}"


def _append_label(text: str, label: str) -> str:
    return f"{text} ({label})" if label else text


class HelpSection(NamedTuple):
    """Section of the help screen, with the active actions of one group."""

    group: str
    """First part of the action ids, such as `item`."""
    rows: list[tuple[str, str]]
    """(keys, help text) of each action."""


def list_help_sections(screen: Screen[Any]) -> list[HelpSection]:
    """Return the sections of the active actions. Groups that many screens share come last."""
    keys: dict[str, list[str]] = {}
    for binding in _list_active_bindings(screen):
        keys.setdefault(binding.id or "", []).append(format_key(binding.key))
    sections: dict[str, HelpSection] = {}
    for action in ACTIONS.values():
        if action.id in keys:
            group = action.id.partition(".")[0]
            row = " ".join(sorted(keys[action.id], key=len)), action.help or action.label
            sections.setdefault(group, HelpSection(group, [])).rows.append(row)
    ranks = {group: rank for rank, group in enumerate(SHARED_GROUPS)}
    return sorted(sections.values(), key=lambda section: ranks.get(section.group, -1))
