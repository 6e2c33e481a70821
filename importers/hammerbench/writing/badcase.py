"""`badcase.csv` with other verdicts: a row a conversation, written by pandas, with JSON of many lines in its cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

NAME, ARGUMENTS = "Func Name", "Args"


@dataclass(frozen=True, slots=True)
class Flags:
    """Of a conversation."""

    named: bool
    """The first snapshot's function is right."""
    arguments: list[bool]
    """Of every snapshot."""


def with_flags(raw: bytes, flags: Sequence[Flags]) -> bytes | None:
    """The file with these flags, every other cell as it was; None if they are its own. `flags` are by row."""
    csv.field_size_limit(1 << 27)
    ending = "\r\n" if raw.split(b"\n", 1)[0].endswith(b"\r") else "\n"
    head, *rows = csv.reader(io.StringIO(raw.decode("utf-8", "replace"), newline=""))
    name, arguments = head.index(NAME), head.index(ARGUMENTS)
    new = [list(row) for row in rows]
    for row, said in zip(new, flags, strict=False):
        if row[name] != str(said.named):
            row[name] = str(said.named)
        if row[arguments] != str(said.arguments):
            row[arguments] = str(said.arguments)
    if new == rows:
        return None
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=ending).writerows([head, *new])
    return out.getvalue().encode("utf-8")
