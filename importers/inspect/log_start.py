"""Recognize an Inspect log by its start and by the names of its members.

The search for runs asks this of many files, so this module does not load the readers of logs.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import BinaryIO

from fcreview.importers.inspect.json_stream import JsonStream, JsonStreamError
from fcreview.safe_files import SIGNATURE, open_archive, open_file

HEADER = "header.json"
START = "_journal/start.json"
SAMPLE_FOLDER = "samples/"
LOG_FIELDS = frozenset(
    {"version", "status", "eval", "plan", "results", "stats", "error", "samples", "reductions"}
)


class UnreadableLog(ValueError):
    """Raised for a file that is not a log or whose header cannot be read.

    The message is the reason.
    """


def is_log(path: Path) -> bool:
    """Return whether a file is an Inspect log.

    Only its first bytes and the names of its members are read.
    """
    try:
        with open_file(path) as file:
            start = file.read(1 << 16)
            if start.startswith(SIGNATURE):
                return _has_log_members(file, start)
            return _is_json_log_start(start)
    except (OSError, ValueError):
        return False


def _has_log_members(file: BinaryIO, start: bytes) -> bool:
    if start[30 : 30 + len(START)] == START.encode():
        return True
    file.seek(0)
    names = open_archive(file).NameToInfo
    return HEADER in names or START in names


def _is_json_log_start(start: bytes) -> bool:
    """Whether the first bytes of a file are those of a JSON log: an object whose first fields are
    those of a log, with an object `eval`.
    """
    byte_order_mark = b"\xef\xbb\xbf"
    text = start.removeprefix(byte_order_mark)
    if not text.lstrip(b" \t\r\n").startswith(b"{"):
        return False

    stream = JsonStream(io.BytesIO(text).read)
    names: list[str] = []
    # The bytes end somewhere in the middle of the log. The stream then raises an error, and the
    # names that were read up to there decide.
    with contextlib.suppress(JsonStreamError):
        for name in stream.iterate_keys():
            names.append(name)
            if names[0] not in LOG_FIELDS:
                return False
            if name == "eval" and stream.peek_after_space() != b"{":
                return False
            stream.skip_value()
    has_field_beside_eval = not {"status", "version", "plan", "samples"}.isdisjoint(names)
    return "eval" in names and has_field_beside_eval


def list_unpacked_samples(folder: Path) -> list[Path]:
    """Return the files of the samples of an unpacked log.

    An id may contain slashes, so there may be subfolders.
    """
    return sorted((folder / SAMPLE_FOLDER).glob("**/*.json"))
