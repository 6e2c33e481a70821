"""ACEBench's dialogue-history tables: fixed-width text, one file an agent item, the only record of tool outcomes.

Long content runs on over rows whose first columns are blank; it was cut at a fixed width, so pieces are joined as
they are. A tool error that the runner broke into single characters is put together again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPELT = re.compile(r"E r r o r   d u r i n g|E r r o r\s+d u r i n g")


@dataclass(slots=True)
class Said:
    index: int
    sender: str
    recipient: str
    content: str


def read_history(text: str) -> tuple[list[Said], list[int]]:
    """The messages of a table, and the numbers of lines (from 1) that are no row of it."""
    said: list[Said] = []
    odd: list[int] = []
    bounds: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith("|-"):
            bounds = [position for position, character in enumerate(line) if character == "|"]
            continue
        cells = _cells(line, bounds)
        if cells is None:
            if not line.startswith("| message_index"):
                odd.append(number)
        elif cells[0].strip().isdigit():
            said.append(Said(int(cells[0]), cells[1].strip(), cells[2].strip(), cells[3].rstrip()))
        elif said and not any(cell.strip() for cell in cells[:3]):
            said[-1].content += cells[3].rstrip("\n")
        else:
            odd.append(number)
    for one in said:
        one.content = _whole(one.content.rstrip())
    return said, odd


def _cells(line: str, bounds: list[int]) -> list[str] | None:
    """The four cells of a row. Widths are counted in characters where they fit the rule above, else split at bars."""
    if not line.startswith("|") or not bounds:
        return None
    parts = line.strip().split("|")
    if len(parts) < 6:
        return None
    content = "|".join(parts[4:-1])
    return [parts[1], parts[2], parts[3], content.removeprefix(" ")]


def _whole(content: str) -> str:
    if _SPELT.match(content):
        return re.sub(r"(.) ", r"\1", content + " ").rstrip()
    return content
