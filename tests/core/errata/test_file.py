"""The file of errata: what is written is read back, and what was changed is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fcreview.errata.entry import Entry, ErrataError, Evidence, question_hash
from fcreview.errata.file import read_errata, write_errata
from fcreview.errata.rules import Rule
from fcreview.model import Message

ENTRY = Entry(
    "bfcl", "V4", "en", "simple_python", "simple_python_0", "ab", [{"f": {"a": [1]}}], [{"f": {"a": [2]}}],
    "How many?\u2028", ("two, \u202e not one",), ("ann",), "adjudication", "BFCL_v4_simple_python.json", "BFCL V4",
    Evidence(3, 1, ("maple", "birch")), 2,
)  # fmt: skip
RULES = [Rule("accept", "bfcl", "f", "a", 5.0, 5, who="ann", date="2026-01-02")]
RAW = write_errata([ENTRY], RULES, "2026-01-02T03:04:05+00:00", "ann")


def test_what_is_written_is_read_back() -> None:
    errata = read_errata(RAW, "e.jsonl")
    assert errata.entries == {ENTRY.key: ENTRY}
    assert [rule.as_json() for rule in errata.rules] == [rule.as_json() for rule in RULES]
    assert (errata.date, errata.who) == ("2026-01-02T03:04:05+00:00", "ann")
    assert RAW.count(b"\n") == 3


@pytest.mark.parametrize(
    "changed",
    [RAW.replace(b'"a":[2]', b'"a":[3]'), RAW.replace(b'"who":"ann"', b'"who":"bob"', 1), RAW[:-2], RAW + b"{}\n"],
)
def test_what_was_changed_is_refused(changed: bytes) -> None:
    assert changed != RAW
    with pytest.raises(ErrataError, match="changed since"):
        read_errata(changed, "e.jsonl")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b'{"format": "fcreview-errata", "version": 2}'])
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:1: "):
        read_errata(raw, "e.jsonl")


def test_an_item_stands_once() -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:3: .*line 2 already"):
        read_errata(write_errata([ENTRY, replace(ENTRY, new=1)], [], "", ""), "e.jsonl")


@pytest.mark.parametrize("field", ["benchmark", "id", "old", "question_hash"])
def test_an_entry_without_what_it_needs_is_told_with_its_line(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Entry.as_json

    def lacking(entry: Entry) -> dict[str, Any]:
        return {name: value for name, value in whole(entry).items() if name != field}

    monkeypatch.setattr(Entry, "as_json", lacking)
    with pytest.raises(ErrataError, match=rf"e\.jsonl:2: {field} is missing"):
        read_errata(write_errata([ENTRY], [], "", ""), "e.jsonl")


def test_only_what_concerns_a_benchmark_counts_for_it() -> None:
    errata = read_errata(RAW)
    part = errata.of("bfcl")
    assert part and part.entries and part.rules
    assert errata.of("acebench") is None
    more = errata.with_rules(Rule("ignore-case"))
    assert more.of("acebench") and more.digest != errata.with_rules(Rule("number-equal")).digest


def test_a_question_is_what_users_say_first() -> None:
    said = [Message(0, -1, "user", "How many?")]
    runner = [Message(0, -1, "system", "You are ..."), *said, Message(0, 0, "assistant", "f()")]
    assert question_hash(said) == question_hash(runner) != question_hash([Message(0, -1, "user", "How much?")])
