"""Find the distinct texts of a field in a large file without a JSON parser."""

from __future__ import annotations

import re
from pathlib import Path

from fcreview.safe_files import open_file

CHUNK_BYTES = 1 << 20
OVERLAP_BYTES = 500
"""Length of the longest text that is found where two parts of the file meet."""
MODEL_FIELD = re.compile(rb'"model"\s{0,20}:\s{0,20}"[^"]{1,400}"?')


def scan_texts(path: Path, pattern: re.Pattern[bytes]) -> set[bytes]:
    """Return the distinct texts of a field, without a JSON parser, which would take much longer.

    At most two are returned. Fields of other objects may be among them. Of a long object or one
    that contains other objects, the text is only the beginning.
    """
    texts: set[bytes] = set()
    end_of_last_chunk = b""
    with open_file(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            window = end_of_last_chunk + chunk
            for match in pattern.finditer(window):
                texts.add(match[0])
                if len(texts) > 1:
                    return texts
            # The text of a field can begin in one chunk and end in the next one.
            end_of_last_chunk = window[-OVERLAP_BYTES:]
    return texts
