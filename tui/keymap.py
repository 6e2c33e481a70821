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
    NO_KEY,
    OVERVIEW_ACTIONS,
    QUEUE_ACTIONS,
    RENAMED_ACTIONS,
    SHARED_GROUPS,
    Action,
)

if TYPE_CHECKING:
    from textual.app import App
    from textual.binding import Binding, BindingType
    from textual.dom import DOMNode
    from textual.screen import Screen

    from fcreview.tui.text.lines import KeyHint

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
UPPER_CASE_PREFIX = "upper_"
DISPLAY_NAMES = {
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "escape": "Esc",
    "backspace": "Bksp",
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
    """Validate the `[keys]` section of a configuration file, and return `{action id: "key,key"}`.

    The section may omit the group of an id if the name is unique: `pass` for `item.pass`.

    Raises:
        KeymapError: An id is unknown or ambiguous, a key is empty or invalid, or two actions that
            are active at the same time have the same key.
    """
    keys_by_action: dict[str, str] = {}
    for name, keys in configured_keys.items():
        action_id = _resolve_action_id(name)
        if action_id in keys_by_action:
            raise KeymapError(f"[keys] {name}: {action_id} is set twice")
        _check_keys(name, keys)
        keys_by_action[action_id] = keys

    _check_key_conflicts(keys_by_action)
    return keys_by_action


def format_renamed_actions_notice(configured_keys: Mapping[str, str]) -> str:
    """Return a notice that names the new ids of renamed actions in the `[keys]` section.

    Empty if the section has no renamed action.
    """
    notices = [
        f"{name} is now {RENAMED_ACTIONS[name]}"
        for name in configured_keys
        if name in RENAMED_ACTIONS
    ]
    return f"[keys] {', '.join(notices)}" if notices else ""


def _check_keys(name: str, keys: str) -> None:
    """Raise KeymapError if the configured keys of an action are invalid.

    `name`: name of the action in the configuration. `keys`: keys such as `p,y`.
    """
    has_empty_key = any(not key.strip() for key in keys.split(","))
    if has_empty_key:
        raise KeymapError(f'[keys] {name}: expected keys such as "p" or "p,y"')

    for key in split_keys(keys):
        if not _is_valid_key(key):
            names = ", ".join(sorted(NAMED_KEYS))
            raise KeymapError(
                f'[keys] {name}: "{key}" is not a key. Use a character or one of {names}'
            )


def find_changed_keys(valid_keys: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that differ from the defaults, by action id.

    These are the configured keys, and the remaining default keys of actions that lose a key to a
    configured action. An action loses a key only to actions that are active at the same time.
    `valid_keys`: result of `validate_keymap`.
    """
    changed_keys = {name: ",".join(split_keys(keys)) for name, keys in valid_keys.items()}

    # A scope is a list of actions that are active at the same time. An action can be in several
    # scopes, and lose a key in each of them.
    for scope in KEY_SCOPES:
        taken_keys = _list_configured_keys(scope, valid_keys)
        for action in scope:
            is_configured = action.id in valid_keys
            if is_configured:
                continue
            keys = split_keys(changed_keys.get(action.id, action.keys))
            remaining_keys = [key for key in keys if key not in taken_keys]
            if remaining_keys != keys:
                changed_keys[action.id] = ",".join(remaining_keys) or NO_KEY
    return changed_keys


def _list_configured_keys(actions: Sequence[Action], valid_keys: Mapping[str, str]) -> set[str]:
    """Return all keys that are configured for these actions."""
    keys: set[str] = set()
    for action in actions:
        if action.id in valid_keys:
            keys.update(split_keys(valid_keys[action.id]))
    return keys


def split_keys(keys: str) -> list[str]:
    """Split `"p,/"` into key names in Textual's notation, such as `slash` for `/`."""
    return [_to_textual_key(key.strip()) for key in keys.split(",")]


def _to_textual_key(key: str) -> str:
    is_sign = len(key) == 1 and not key.isalnum()
    return _find_textual_key_name(key) if is_sign else key


def format_key(key: str) -> str:
    """Return the displayed name of a key, such as `?`, `PgDn` or `^q`.

    Upper-case letters keep their case.
    """
    *modifiers, name = key.split("+")
    displayed_name = _format_key_name(name)
    if not modifiers:
        return displayed_name

    prefixes = ["^" if modifier == "ctrl" else f"{modifier}+" for modifier in modifiers]
    return "".join(prefixes) + displayed_name


def _format_key_name(name: str) -> str:
    """Return the displayed name of a key without modifiers."""
    # Textual names upper-case letters `upper_a`.
    if name.startswith(UPPER_CASE_PREFIX):
        return name.removeprefix(UPPER_CASE_PREFIX).upper()
    return PUNCTUATION.get(name) or DISPLAY_NAMES.get(name, name)


@lru_cache(maxsize=4)
def format_first_keys(changed_keys: frozenset[tuple[str, str]] = frozenset()) -> Mapping[str, str]:
    """Return the displayed name of the first key of each action, such as `PgDn`, by action id.

    Actions without a key are omitted. `changed_keys`: (action id, keys) pairs that differ from the
    defaults.
    """
    keys_by_action = {action.id: action.keys for action in ACTIONS.values()}
    keys_by_action.update(changed_keys)

    first_keys = {}
    for action_id, keys in keys_by_action.items():
        first_key = split_keys(keys)[0]
        if first_key != NO_KEY:
            first_keys[action_id] = format_key(first_key)
    return first_keys


def _is_valid_key(key: str) -> bool:
    """Whether a key is written in Textual's notation, such as `ctrl+a`."""
    *modifiers, last = key.split("+")
    is_character = len(last) == 1 and last.isprintable()
    is_known_key = is_character or last in PUNCTUATION or last in NAMED_KEYS
    return is_known_key and set(modifiers) <= MODIFIERS


def _resolve_action_id(configured_name: str) -> str:
    """Return the id of the action that the configuration names.

    The name may lack the group (`pass` for `item.pass`), or be the earlier id of a renamed action.
    Raises KeymapError if no action or several actions have this name.
    """
    if configured_name in RENAMED_ACTIONS:
        return RENAMED_ACTIONS[configured_name]

    matches = []
    for action_id in ACTIONS:
        _, _, short_name = action_id.partition(".")
        if configured_name in (action_id, short_name):
            matches.append(action_id)
    if not matches:
        hint = _format_action_id_hint(configured_name)
        raise KeymapError(f"[keys] {configured_name}: unknown action. {hint}")
    if len(matches) > 1:
        ids = ", ".join(matches)
        raise KeymapError(
            f"[keys] {configured_name}: the action name is ambiguous. Use one of {ids}"
        )
    return matches[0]


def _format_action_id_hint(name: str) -> str:
    """Return a hint for an unknown id of an action.

    The hint names similar ids, else the actions of the typed group, else one id of each group.
    """
    similar_ids = get_close_matches(name, ACTIONS, n=3, cutoff=0.8)
    if similar_ids:
        return f"Did you mean {' or '.join(similar_ids)}?"

    names_by_group: dict[str, list[str]] = {}
    first_ids: dict[str, str] = {}
    for action_id in ACTIONS:
        group, _, short_name = action_id.partition(".")
        names_by_group.setdefault(group, []).append(short_name)
        first_ids.setdefault(group, action_id)

    typed_group, _, _ = name.partition(".")
    if typed_group in names_by_group:
        return f"Actions of {typed_group}: {', '.join(names_by_group[typed_group])}"
    return f"Examples: {', '.join(first_ids.values())}. Press ? in fcreview for all actions"


def _check_key_conflicts(configured_keys: Mapping[str, str]) -> None:
    """Raise KeymapError if one key is configured for two actions that are active at the same
    time.
    """
    for actions_active_together in KEY_SCOPES:
        owner_by_key: dict[str, str] = {}
        for action in actions_active_together:
            if action.id not in configured_keys:
                continue
            for key in split_keys(configured_keys[action.id]):
                # The first action with the key owns it.
                owner = owner_by_key.setdefault(key, action.id)
                if owner != action.id:
                    raise KeymapError(
                        f'[keys] "{format_key(key)}" is assigned to both {owner} and {action.id}'
                    )


def make_bindings(*tables: Sequence[Action]) -> list[BindingType]:
    """Convert tables of actions to Textual bindings with the default keys."""
    from textual.binding import Binding

    bindings: list[BindingType] = []
    for table in tables:
        for action in table:
            binding = Binding(
                action.keys,
                action.action,
                action.label,
                show=action.has_hint,
                id=action.id,
                priority=action.priority,
            )
            bindings.append(binding)
    return bindings


QUIT_ACTIONS = ("queue.quit", "overview.quit")


def _rank_action(name: str, rank: int) -> tuple[int, int]:
    """Return the sort key of an action: ordinary actions, then those that quit, then those of the
    app.
    """
    if name.startswith("app."):
        return 2, rank
    return int(name in QUIT_ACTIONS), rank


_RANKS = {name: _rank_action(name, rank) for rank, name in enumerate(ACTIONS)}
_LAST_RANK = (3, 0)


def _list_active_bindings(screen: Screen[Any]) -> list[Binding]:
    """Return the enabled bindings of a screen, starting with the bindings of the focused widget.

    The screen's `hidden_actions` are omitted, because their keys only show a message that nothing
    can be done.
    """
    hidden_actions: frozenset[str] = getattr(screen, "hidden_actions", frozenset())
    bindings = []
    for active in screen.active_bindings.values():
        binding = active.binding
        has_key = binding.key != NO_KEY
        if active.enabled and has_key and binding.id not in hidden_actions:
            bindings.append(binding)
    return bindings


def list_key_hints(screen: Screen[Any]) -> list[KeyHint]:
    """Return the hints of the key line in the order of the action tables.

    A hint is the first key of an action with its label. Actions of the app come last.
    """
    hint_by_action: dict[str, KeyHint] = {}
    for binding in _list_active_bindings(screen):
        action_id = binding.id or binding.action
        if binding.show and binding.description and action_id not in hint_by_action:
            label = _find_hint_label(screen, binding)
            hint_by_action[action_id] = (format_key(binding.key), label)

    action_ids = sorted(hint_by_action, key=lambda action_id: _RANKS.get(action_id, _LAST_RANK))
    return [hint_by_action[action_id] for action_id in action_ids]


BACK_LABEL = "back"
"""Label of the actions that return to the screen below. The key line names this screen instead."""


def _find_hint_label(screen: Screen[Any], binding: Binding) -> str:
    """Return the label of a key, which says where the key leads if it leaves the screen."""
    # A screen can have its own labels for some actions.
    own_labels: Mapping[str, str] = getattr(screen, "hint_labels", {})
    label = own_labels.get(binding.id or "", binding.description)
    if label != BACK_LABEL:
        return label

    # Instead of "back", the label is the name of the screen below, such as `overview`.
    screens = screen.app.screen_stack
    position = screens.index(screen) if screen in screens else 0
    screen_below = screens[position - 1] if position > 0 else None
    return getattr(screen_below, "place_name", "") or label


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
    """Return the actions that a screen can run now, each with its first key.

    They are in the order of the action tables.
    """
    # The node is the widget, screen or app that runs the action.
    node_by_binding = {}
    for active in screen.active_bindings.values():
        node_by_binding[active.binding.id, active.binding.key] = active.node

    action_by_id: dict[str, AvailableAction] = {}
    for binding in _list_active_bindings(screen):
        # An action can have several keys. The first one is enough.
        if binding.id not in ACTIONS or binding.id in action_by_id:
            continue
        action_by_id[binding.id] = AvailableAction(
            binding.id,
            key=format_key(binding.key),
            label=binding.description,
            action=binding.action,
            node=node_by_binding[binding.id, binding.key],
        )
    return [action_by_id[action_id] for action_id in ACTIONS if action_id in action_by_id]


def find_action_key_names(app: App[Any]) -> Mapping[str, str]:
    """Return the displayed name of each action's first key, by action id."""
    return format_first_keys(frozenset(app._keymap.items()))


def format_welcome_message(app: App[Any]) -> str:
    """Return the welcome message of the first start. It names up to three keys."""
    key_names = find_action_key_names(app)
    purposes = {"queue.open": "to open", "app.help": "for all keys", "app.palette": "for commands"}
    hints = []
    for action_id, purpose in purposes.items():
        # The user may have removed the key.
        if action_id in key_names:
            hints.append(f"{key_names[action_id]} {purpose}")
    return f"Welcome. Press {', '.join(hints)}"


def list_keys(app: App[Any], actions: Sequence[Action]) -> set[str]:
    """Return all keys of these actions in Textual's notation.

    Configured keys replace the default keys.
    """
    return {
        key for action in actions for key in split_keys(app._keymap.get(action.id, action.keys))
    }


ON_AN_ITEM = "on an item"
_PLACES = (
    (QUEUE_ACTIONS, "in the list"),
    (OVERVIEW_ACTIONS, "on the overview"),
    (ITEM_ACTIONS, ON_AN_ITEM),
)


def format_unavailable_key_message(app: App[Any], key: str, open_item_key: str = "") -> str:
    """Return the message for a key that has no action on the current screen.

    The message says where the key works: in the list, on the overview or on an item.

    Args:
        key: Key in Textual's notation.
        open_item_key: Displayed name of the key that opens the item under the cursor. Empty if
            there is no item.
    """
    label_by_place = _find_labels_of_key(app, key)
    help_key = find_action_key_names(app).get("app.help", "")
    help_hint = f"; press {help_key} for help" if help_key else ""
    key_name = format_key(key)

    message = _describe_where_key_works(key_name, label_by_place, open_item_key, help_hint)
    room = app.size.width - MESSAGE_PADDING_CELLS
    if len(message) <= room:
        return message
    # The message is too long with the names of the actions.
    places_without_labels = dict.fromkeys(label_by_place, "")
    return _describe_where_key_works(key_name, places_without_labels, open_item_key, help_hint)


MESSAGE_PADDING_CELLS = 2


def _find_labels_of_key(app: App[Any], key: str) -> dict[str, str]:
    """Return the label of the key's first action by place, such as `on an item`."""
    label_by_place: dict[str, str] = {}
    for actions, place in _PLACES:
        for action in actions:
            if key in list_keys(app, [action]):
                label_by_place.setdefault(place, action.label)
    return label_by_place


def _describe_where_key_works(
    key_name: str, label_by_place: Mapping[str, str], open_item_key: str, help_hint: str
) -> str:
    """Return a message such as `f (fail) works on an item`.

    `label_by_place`: the place where the key works -> what it does there, or "" to omit that.
    """
    if not label_by_place:
        return f"{key_name} is not available here{help_hint}"

    if open_item_key and ON_AN_ITEM in label_by_place:
        key = _append_label(key_name, label_by_place[ON_AN_ITEM])
        return f"{key} works {ON_AN_ITEM}; press {open_item_key} to open the item"

    labels = list(label_by_place.values())
    is_same_action = len(set(labels)) == 1
    if is_same_action:
        key = _append_label(key_name, labels[0])
        return f"{key} works {' and '.join(label_by_place)}{help_hint}"

    places = [_append_label(place, label) for place, label in label_by_place.items()]
    *first_places, last_place = places
    return f"{key_name} works {', '.join(first_places)} and {last_place}"


def _append_label(text: str, label: str) -> str:
    return f"{text} ({label})" if label else text


class HelpSection(NamedTuple):
    """Section of the help screen, with the active actions of one group."""

    group: str
    """First part of the action ids, such as `item`."""
    rows: list[tuple[str, str]]
    """(keys, help text) of each action."""


def list_help_sections(screen: Screen[Any]) -> list[HelpSection]:
    """Return what the help of a screen lists: its keys, grouped by the part of the program.

    Only actions that work at the moment are listed. An action ID such as `queue.search` begins with
    the group. Groups that many screens share come last.
    """
    keys_by_action: dict[str, list[str]] = {}
    for binding in _list_active_bindings(screen):
        keys_by_action.setdefault(binding.id or "", []).append(format_key(binding.key))

    sections: dict[str, HelpSection] = {}
    for action in ACTIONS.values():
        if action.id not in keys_by_action:
            continue
        group, _, _ = action.id.partition(".")
        section = sections.setdefault(group, HelpSection(group, []))
        # Short keys such as `?` stand before long ones such as `ctrl+f`.
        keys = sorted(keys_by_action[action.id], key=len)
        section.rows.append((" ".join(keys), action.help or action.label))

    own_sections = [section for section in sections.values() if section.group not in SHARED_GROUPS]
    shared_sections = [sections[group] for group in SHARED_GROUPS if group in sections]
    return own_sections + shared_sections
