"""Other keys for actions, as a configuration file gives them, and how keys are written for people. Without Textual."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from fcreview.tui.actions import ACTIONS, TOGETHER

NO_KEY = "no_key"
"""No terminal sends it: for an action whose only key was given to another."""
SHORT = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
NAMED = {
    *("enter", "escape", "space", "tab", "backspace", "delete", "insert", "up", "down", "left", "right"),
    *("home", "end", "pageup", "pagedown", *(f"f{number}" for number in range(1, 25))),
}
MODIFIERS = {"ctrl", "shift", "alt"}
PRINTED = {"pagedown": "PgDn", "pageup": "PgUp", "escape": "Esc", "home": "Home", "end": "End"}


class KeymapError(Exception):
    """The keys cannot be used; the text says why in one line."""


def _named(char: str) -> str:
    name = unicodedata.name(char).lower().replace("-", "_").replace(" ", "_")
    return SHORT.get(name, name)


PUNCTUATION = {_named(char): char for char in string.punctuation}
"""`question_mark` -> `?`: the names Textual has for them."""


def keymap(wanted: Mapping[str, str]) -> dict[str, str]:
    """`{action id: "key,key"}` from the configuration file's `[keys]`.

    An id may be given without its room where that is clear (`pass` for `item.pass`). Raises KeymapError for an id that
    does not exist or is in several rooms, for keys that are empty or no keys, and for one key given to two actions
    that are in force at the same time.
    """
    made: dict[str, str] = {}
    for name, keys in wanted.items():
        action = _action(name)
        if action in made:
            raise KeymapError(f"[keys] {name}: {action} is given twice")
        if not all(part.strip() for part in keys.split(",")):
            raise KeymapError(f'[keys] {name}: must be keys such as "p" or "p,y"')
        wrong = next((key for key in split(keys) if not _is_key(key)), None)
        if wrong is not None:
            raise KeymapError(f'[keys] {name}: "{wrong}" is no key: a character, or one of {", ".join(sorted(NAMED))}')
        made[action] = keys
    _check_once(made)
    return made


def in_force(given: Mapping[str, str]) -> dict[str, str]:
    """What `keymap` gave, and what is left to actions that had one of these keys by default."""
    made = {name: ",".join(split(keys)) for name, keys in given.items()}
    for table in TOGETHER:
        taken = {key for action in table if action.id in given for key in split(given[action.id])}
        for action in table:
            keys = split(made.get(action.id, action.keys))
            if action.id not in given and taken & set(keys):
                made[action.id] = ",".join(key for key in keys if key not in taken) or NO_KEY
    return made


def split(keys: str) -> list[str]:
    """Each as Textual names it: `slash` for `/`."""
    return [_textual(key.strip()) for key in keys.split(",")]


def key_name(key: str) -> str:
    """A key as a person writes it: `?`, `PgDn`, `^q`. Upper-case letters stay upper-case."""
    *modifiers, last = key.split("+")
    last = last[6:].upper() if last.startswith("upper_") else last
    name = PUNCTUATION.get(last) or PRINTED.get(last, last)
    return "".join("^" if part == "ctrl" else f"{part}+" for part in modifiers) + name


@lru_cache(maxsize=4)
def first_keys(given: frozenset[tuple[str, str]] = frozenset()) -> Mapping[str, str]:
    """The first key of each action, by its id, as people write it: for sentences that name one. `given`: what
    `in_force` said. Actions without a key are left out."""
    keys = {action.id: action.keys for action in ACTIONS.values()} | dict(given)
    first = {name: split(each)[0] for name, each in keys.items()}
    return {name: key_name(key) for name, key in first.items() if key != NO_KEY}


def _textual(key: str) -> str:
    return _named(key) if len(key) == 1 and not key.isalnum() else key


def _is_key(key: str) -> bool:
    *modifiers, last = key.split("+")
    known = (len(last) == 1 and last.isprintable()) or last in PUNCTUATION or last in NAMED
    return known and set(modifiers) <= MODIFIERS


def _action(name: str) -> str:
    """The id that is meant by it, with or without its room."""
    found = [known for known in ACTIONS if name in (known, known.partition(".")[2])]
    if not found:
        raise KeymapError(f"[keys] {name}: there is no such key binding: {_known(name)}")
    if len(found) > 1:
        raise KeymapError(f"[keys] {name}: one of {', '.join(found)}")
    return found[0]


def _known(name: str) -> str:
    """What there is instead: something spelled alike, the actions of its room, or the rooms."""
    if alike := get_close_matches(name, ACTIONS, n=3, cutoff=0.8):
        return f"did you mean {' or '.join(alike)}?"
    rooms: dict[str, list[str]] = {}
    for action in ACTIONS:
        room, _, own = action.partition(".")
        rooms.setdefault(room, []).append(own)
    room = name.partition(".")[0]
    if room in rooms:
        return f"of {room} there are {', '.join(rooms[room])}"
    return f"there are {', '.join(f'{each}.{rooms[each][0]}' for each in rooms)} and others, see ? help"


def _check_once(given: Mapping[str, str]) -> None:
    for table in TOGETHER:
        holders: dict[str, str] = {}
        for action in table:
            for key in dict.fromkeys(split(given[action.id])) if action.id in given else ():
                if key in holders:
                    raise KeymapError(f'[keys] "{key_name(key)}" is given to {holders[key]} and to {action.id}')
                holders[key] = action.id
