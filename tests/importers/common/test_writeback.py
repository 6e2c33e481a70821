"""JSON that fcreview writes back keeps the layout of the file."""

import json

import pytest

from fcreview.importers.common.writeback import dump_with_layout_of

RECORD = {"name": "naïve", "rewards": [1, 0.5], "info": {"parts": {}}}


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 4, 8])
@pytest.mark.parametrize("escapes", [False, True])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"])
def test_an_unchanged_value_has_the_same_bytes(
    indent: int | None, escapes: bool, end: bytes
) -> None:
    text = json.dumps(RECORD, indent=indent, ensure_ascii=escapes)
    if end == b"\r\n":
        text = text.replace("\n", "\r\n")
    content = text.encode() + end
    assert dump_with_layout_of(RECORD, content) == content


def test_a_compact_value_stays_compact() -> None:
    content = json.dumps(RECORD, separators=(",", ":"), ensure_ascii=False).encode()
    new = RECORD | {"name": "other é"}
    assert dump_with_layout_of(new, content) == content.replace(
        "naïve".encode(), "other é".encode()
    )


def test_a_record_inside_a_file_keeps_its_outer_indentation() -> None:
    file = json.dumps({"simulations": [RECORD]}, indent=2, ensure_ascii=False)
    start = file.index("{", 1)
    record = file[start : file.rindex("}", 0, file.rindex("]")) + 1].encode()
    assert dump_with_layout_of(RECORD, record) == record
