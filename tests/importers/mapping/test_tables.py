"""Tables that spreadsheets and other programs save are read, or refused with the repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.importers.mapping.check import check_mapping_file
from fcreview.importers.mapping.propose import propose_mapping
from fcreview.model.item import ImportIssue, Item
from tests.importers.mapping.test_mapping import HEADER, read_folder

ROWS = "id,question,ok\n1,Wo ist das Café?,true\n2,Où?,false\n"
SEMICOLONS = ROWS.replace(",", ";")


def read_table(
    folder: Path, content: bytes, more: str = "", name: str = "rows.csv", item_id: str = "id"
) -> tuple[list[Item], list[ImportIssue]]:
    (folder / name).write_bytes(content)
    source = f'[[source]]\nfiles = "{name}"\n{more}\n'
    item = f'[item]\nid = "{item_id}"\nquestion = "question"\nverdict = "ok"\n'
    (folder / "fcreview-map.toml").write_text(f"{HEADER}\n{source}{item}")
    return read_folder(folder)


def check_rows(items: list[Item], issues: list[ImportIssue]) -> None:
    assert [(item.id, item.question, item.official) for item in items] == [
        ("1", "Wo ist das Café?", True),
        ("2", "Où?", False),
    ]
    assert issues == []


@pytest.mark.parametrize(
    ("content", "more"),
    [
        (ROWS.encode("utf-8-sig"), ""),
        (ROWS.replace("\n", "\r\n").encode(), ""),
        (ROWS.encode("utf-16"), ""),
        (b"\xfe\xff" + ROWS.encode("utf-16-be"), ""),
        (SEMICOLONS.encode("utf-16"), 'delimiter = ";"'),
        (ROWS.replace(",", "\t").encode("utf-16"), 'delimiter = "\\t"'),
        (ROWS.encode("utf-16-le"), 'encoding = "utf-16-le"'),
        (SEMICOLONS.encode(), 'delimiter = ";"'),
        (b"sep=;\r\n" + SEMICOLONS.encode(), ""),
        (("sep=;\r\n" + SEMICOLONS).encode("utf-16"), ""),
        (ROWS.encode("windows-1252"), 'encoding = "windows-1252"'),
        (ROWS.encode("iso-8859-1"), 'encoding = "iso-8859-1"'),
        (ROWS.encode("gb18030"), 'encoding = "gb18030"'),
        # A byte order mark says more than the mapping.
        (ROWS.encode("utf-8-sig"), 'encoding = "windows-1252"'),
    ],
)
def test_tables_of_spreadsheets_are_read(tmp_path: Path, content: bytes, more: str) -> None:
    check_rows(*read_table(tmp_path, content, more))


@pytest.mark.parametrize(
    ("name", "delimiter", "title", "repair"),
    [
        ("rows.csv", ";", "semicolons, not by commas", 'delimiter = ";"'),
        ("rows.csv", "\t", "tabs, not by commas", 'delimiter = "\\t"'),
        ("rows.csv", "|", "vertical bars, not by commas", 'delimiter = "|"'),
        ("rows.tsv", ",", "commas, not by tabs", 'delimiter = ","'),
    ],
)
def test_other_delimiter_is_refused_with_the_line_that_repairs_it(
    tmp_path: Path, name: str, delimiter: str, title: str, repair: str
) -> None:
    content = ROWS.replace(",", delimiter).encode()
    items, issues = read_table(tmp_path, content, name=name)
    assert items == []
    (refusal,) = [issue for issue in issues if issue.severity == "error"]
    assert refusal.what == (
        f"the columns are separated by {title}. Add {repair} to the table of the file in the"
        " mapping"
    )
    check_rows(*read_table(tmp_path, content, repair, name=name))


def test_table_with_one_column_is_no_table_with_another_delimiter(tmp_path: Path) -> None:
    items, _ = read_table(tmp_path, b'"id"\n"a;b"\n')
    assert [item.id for item in items] == ["a;b"]


def test_other_encoding_is_reported_with_its_line_and_the_repair(tmp_path: Path) -> None:
    items, issues = read_table(tmp_path, ROWS.encode("windows-1252"))
    assert len(items) == 2
    assert [issue.line for issue in issues] == [2, 3]
    assert all('encoding = "windows-1252"' in issue.what for issue in issues)


def test_broken_utf16_is_reported_with_its_line(tmp_path: Path) -> None:
    content = ROWS.encode("utf-16").replace("é".encode("utf-16-le"), b"\x00\xd8")
    items, issues = read_table(tmp_path, content)
    assert len(items) == 2
    assert [(issue.line, issue.what) for issue in issues] == [
        (2, "a character of the line is not UTF-16")
    ]


@pytest.mark.parametrize("name", ["ID", " Id "])
def test_missing_id_names_the_column_in_another_case(tmp_path: Path, name: str) -> None:
    content = ROWS.replace("id", name, 1).encode()
    items, issues = read_table(tmp_path, content)
    assert items == []
    written = name if name == "ID" else f'"{name}"'
    errors = [issue for issue in issues if issue.severity == "error"]
    assert [issue.line for issue in errors] == [2, 3]
    assert {issue.what for issue in errors} == {
        f"the record has no id, so it was skipped. Did you mean {written}?"
    }


def test_missing_column_names_the_one_in_another_case(tmp_path: Path) -> None:
    _, issues = read_table(tmp_path, ROWS.replace("question", "Question").encode())
    assert [issue.what for issue in issues] == [
        "item.question is missing in all items. Did you mean Question?"
    ]


def test_table_options_of_another_format_are_reported(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "a"}\n')
    source = '[[source]]\nfiles = "rows.jsonl"\ndelimiter = ";"\n'
    (tmp_path / "fcreview-map.toml").write_text(f'{HEADER}\n{source}[item]\nid = "id"\n')
    items, issues = read_folder(tmp_path)
    assert [item.id for item in items] == ["a"]
    assert [issue.what for issue in issues] == [
        "delimiter and encoding are not used, because the file is read as jsonl"
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('delimiter = ";;"', 'source[0].delimiter must be one of ",", ";", "\\t", "|"'),
        ('encoding = "latin"', "source[0].encoding"),
    ],
)
def test_unknown_table_options_are_refused(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "fcreview-map.toml"
    path.write_text(f'{HEADER}\n[[source]]\nfiles = "*.csv"\n{line}\n[item]\nid = "id"\n')
    assert any(text.startswith(problem) for text in check_mapping_file(path).problems)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (SEMICOLONS.encode(), ['delimiter = ";"']),
        (ROWS.replace(",", "\t").encode("utf-16"), ['delimiter = "\\t"']),
        (SEMICOLONS.encode("windows-1252"), ['delimiter = ";"', 'encoding = "windows-1252"']),
        (b"sep=;\n" + SEMICOLONS.encode(), []),
        (ROWS.encode(), []),
    ],
)
def test_proposed_mapping_names_delimiter_and_encoding(
    tmp_path: Path, content: bytes, lines: list[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    proposal = propose_mapping(path, tmp_path)
    assert proposal is not None
    options = [
        line for line in proposal.text.splitlines() if line.startswith(("delimiter", "encoding"))
    ]
    assert options == lines
    assert [item.question for item in proposal.items] == ["Wo ist das Café?", "Où?"]
