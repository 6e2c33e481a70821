"""Recognise the copies that programs which synchronise folders make of a file that two machines
changed, by their names.

Syncthing: `NAME.sync-conflict-DATE-TIME-ID.json`. Dropbox, Nextcloud, ownCloud: `NAME (conflicted
copy DATE).json`, with the name of the user or machine in front.
"""

from __future__ import annotations

import re

_COPY = re.compile(
    r"(?P<name>.+?)"
    r"(?:\.sync-conflict-\d{8}-\d{6}(?:-\w{1,20})?"
    r"| \((?:[^()]{1,80} )?conflicted copy(?: [^()]{1,60})?\)"
    r"|_conflict-\d{8}-\d{6})"
    r"(?P<ending>(?:\.\w{1,10}){0,2})",
    re.IGNORECASE,
)


def find_original_name(name: str) -> str | None:
    """Return the name of the file of which a file is a copy, or None if it is no such copy."""
    match = _COPY.fullmatch(name)
    return None if match is None else f"{match['name']}{match['ending']}"
