"""Validate the key assignments of a configuration file, and format key names for display.

The module does not import Textual.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from fcreview.tui.actions import ACTIONS, KEY_SCOPES

NO_KEY = "no_key"
"""Key name that no terminal sends, for an action whose only key was assigned to another action."""
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
    *("enter", "escape", "space", "tab", "backspace", "delete", "insert", "up", "down", "left", "right"),
    *("home", "end", "pageup", "pagedown", *(f"f{number}" for number in range(1, 25))),
}
MODIFIERS = {"ctrl", "shift", "alt"}
DISPLAY_NAMES = {"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "home": "Home", "end": "End"}


class KeymapError(Exception):
    """Raised when the configured keys are invalid. The message is one line."""


def _textual_name(char: str) -> str:
    name = unicodedata.name(char).lower().replace("-", "_").replace(" ", "_")
    return TEXTUAL_NAMES.get(name, name)


PUNCTUATION = {_textual_name(char): char for char in string.punctuation}
"""Maps Textual's name of a punctuation character to the character, such as `question_mark` to `?`."""


def validate_keymap(configured: Mapping[str, str]) -> dict[str, str]:
    """Validate the `[keys]` section of a configuration file and return `{action id: "key,key"}`.

    An id may be given without its group if the name is unique: `pass` for `item.pass`.

    Raises:
        KeymapError: An id is unknown or ambiguous, a key is empty or invalid, or two actions that are active at the
            same time have the same key.
    """
    keys_by_action: dict[str, str] = {}
    for name, keys in configured.items():
        action = _resolve_action_id(name)
        if action in keys_by_action:
            raise KeymapError(f"[keys] {name}: {action} is set twice")
        if not all(part.strip() for part in keys.split(",")):
            raise KeymapError(f'[keys] {name}: expected keys such as "p" or "p,y"')
        invalid = next((key for key in split_keys(keys) if not _is_key(key)), None)
        if invalid is not None:
            names = ", ".join(sorted(NAMED_KEYS))
            raise KeymapError(f'[keys] {name}: "{invalid}" is not a key. Use a character or one of {names}')
        keys_by_action[action] = keys
    _check_conflicts(keys_by_action)
    return keys_by_action


def resolve_keymap(configured: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that differ from the defaults, by action id: the configured keys, and the remaining keys of
    actions that lost a default key to another action.

    `configured` is the result of `validate_keymap`.
    """
    keys_by_action = {name: ",".join(split_keys(keys)) for name, keys in configured.items()}
    for scope in KEY_SCOPES:
        reassigned = {key for action in scope if action.id in configured for key in split_keys(configured[action.id])}
        for action in scope:
            keys = split_keys(keys_by_action.get(action.id, action.keys))
            if action.id not in configured and reassigned & set(keys):
                keys_by_action[action.id] = ",".join(key for key in keys if key not in reassigned) or NO_KEY
    return keys_by_action


def split_keys(keys: str) -> list[str]:
    """Split `"p,/"` into key names in Textual's notation, such as `slash` for `/`."""
    stripped = [key.strip() for key in keys.split(",")]
    return [_textual_name(key) if len(key) == 1 and not key.isalnum() else key for key in stripped]


def format_key(key: str) -> str:
    """Return the displayed name of a key, such as `?`, `PgDn` or `^q`. Upper-case letters keep their case."""
    *modifiers, last = key.split("+")
    last = last[6:].upper() if last.startswith("upper_") else last
    name = PUNCTUATION.get(last) or DISPLAY_NAMES.get(last, last)
    return "".join("^" if part == "ctrl" else f"{part}+" for part in modifiers) + name


@lru_cache(maxsize=4)
def first_key_names(changed_keys: frozenset[tuple[str, str]] = frozenset()) -> Mapping[str, str]:
    """Return the displayed name of the first key of each action, by action id. Actions without a key are omitted.

    `changed_keys`: (action id, keys) pairs of the mapping that `resolve_keymap` returned.
    """
    keys_by_action = {action.id: action.keys for action in ACTIONS.values()} | dict(changed_keys)
    first = {name: split_keys(keys)[0] for name, keys in keys_by_action.items()}
    return {name: format_key(key) for name, key in first.items() if key != NO_KEY}


def _is_key(key: str) -> bool:
    *modifiers, last = key.split("+")
    valid = (len(last) == 1 and last.isprintable()) or last in PUNCTUATION or last in NAMED_KEYS
    return valid and set(modifiers) <= MODIFIERS


def _resolve_action_id(configured_name: str) -> str:
    """Return the full id of an action. `configured_name` may lack the group."""
    matches = [action for action in ACTIONS if configured_name in (action, action.partition(".")[2])]
    if not matches:
        raise KeymapError(f"[keys] {configured_name}: unknown action. {_suggest_action_ids(configured_name)}")
    if len(matches) > 1:
        raise KeymapError(f"[keys] {configured_name}: the action name is ambiguous. Use one of {', '.join(matches)}")
    return matches[0]


def _suggest_action_ids(name: str) -> str:
    """Return a hint for an unknown id: similar ids, else the actions of its group, else one id of each group."""
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


def _check_conflicts(configured: Mapping[str, str]) -> None:
    for scope in KEY_SCOPES:
        owners: dict[str, str] = {}
        for action in scope:
            for key in dict.fromkeys(split_keys(configured[action.id])) if action.id in configured else ():
                if key in owners:
                    raise KeymapError(f'[keys] "{format_key(key)}" is assigned to both {owners[key]} and {action.id}')
                owners[key] = action.id
