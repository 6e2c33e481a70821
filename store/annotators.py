"""Names of annotators, which are also names of files: two annotators never share one."""

from __future__ import annotations

import re
import unicodedata

from fcreview.errors import WRONG_USAGE, FcreviewError

LONGEST = 64
"""Characters; at most 200 bytes in UTF-8, so that the journal's file name fits everywhere."""

_PUNCTUATION = "._@+-"


class AnnotatorError(FcreviewError):
    """A name that cannot be a journal's file name; the message suggests one that can."""

    code = WRONG_USAGE


def check_annotator(name: str) -> str:
    """The name in NFC, or AnnotatorError. Letters and digits of any script and `. _ @ + -`; not first `.` or `-`."""
    normal = unicodedata.normalize("NFC", name)
    if normal and safe_annotator(normal) == normal:
        return normal
    suggestion = safe_annotator(normal)
    raise AnnotatorError(
        f"annotator {name!a}: letters, digits and {' '.join(_PUNCTUATION)} only, at most {LONGEST}"
        + (f"; try {suggestion}" if suggestion else "")
    )


def safe_annotator(text: str) -> str:
    """The nearest permitted name, empty if nothing of the text is permitted: `Anna Schmidt` -> `Anna-Schmidt`."""
    normal = unicodedata.normalize("NFC", text)
    kept = "".join(c if c.isalnum() or c in _PUNCTUATION else " " for c in normal)
    name = re.sub(r" +", "-", kept.strip()).lstrip(".-")[:LONGEST]
    while len(name.encode("utf-8", "replace")) > 200:
        name = name[:-1]
    return name


def same_file(one: str, other: str) -> bool:
    """Whether a file system that ignores case would put both names into one file."""
    return one.casefold() == other.casefold()
