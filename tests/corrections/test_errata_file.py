"""An errata file is read back unchanged, and a modified file is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from fcreview.equivalence import EquivalenceRule
from fcreview.errata import ErrataEntry, ErrataError, Evidence, _digest, hash_question, parse_errata, serialize_errata
from fcreview.model.item import Message

ENTRY = ErrataEntry(
    "bfcl", "V4", "en", "simple_python", "simple_python_0", "ab", [{"f": {"a": [1]}}], [{"f": {"a": [2]}}],
    "How many?\u2028", ("two, \u202e not one",), ("ann",), "adjudication", "BFCL_v4_simple_python.json", "BFCL V4",
    Evidence(3, 1, ("maple", "birch")), 2,
)  # fmt: skip
RULES = [EquivalenceRule("accept", "bfcl", "f", "a", 5.0, 5, who="ann", date="2026-01-02")]
RAW = serialize_errata([ENTRY], RULES, "2026-01-02T03:04:05+00:00", "ann")


def test_errata_round_trip() -> None:
    errata = parse_errata(RAW, "e.jsonl")
    assert errata.entries == {ENTRY.key: ENTRY}
    assert [rule.as_json() for rule in errata.rules] == [rule.as_json() for rule in RULES]
    assert (errata.date, errata.who) == ("2026-01-02T03:04:05+00:00", "ann")
    assert RAW.count(b"\n") == 3


@pytest.mark.parametrize(
    "changed",
    [RAW.replace(b'"a":[2]', b'"a":[3]'), RAW.replace(b'"who":"ann"', b'"who":"bob"', 1), RAW[:-2], RAW + b"{}\n"],
)
def test_modified_file_is_refused(changed: bytes) -> None:
    assert changed != RAW
    with pytest.raises(ErrataError, match="changed since"):
        parse_errata(changed, "e.jsonl")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b'{"format": "fcreview-errata", "version": 2}'])
def test_files_of_other_formats_are_refused(raw: bytes) -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:1: "):
        parse_errata(raw, "e.jsonl")


DEEP = f"{'[' * 200}{']' * 200}"


@pytest.mark.parametrize(
    ("was", "is_", "why"),
    [
        (b'"rule":"accept"', b'"rule":["accept"]', "3: unknown rule"),
        (b'"rule":"accept"', b'"rule":{}', "3: unknown rule"),
        (b'"given":5.0', f'"given":{DEEP}'.encode(), "3: nested deeper"),
        (b'"old":[{"f":{"a":[1]}}]', f'"old":{DEEP}'.encode(), "2: nested deeper"),
        (b'"who":"ann"', f'"who":{DEEP}'.encode(), "1: nested deeper"),
    ],
)
def test_invalid_content_with_a_valid_digest_is_refused(was: bytes, is_: bytes, why: str) -> None:
    head, body = RAW.split(b"\n", 1)
    changed = (head.replace(was, is_, 1) + b"\n" + body) if was in head else head + b"\n" + body.replace(was, is_, 1)
    head, body = changed.split(b"\n", 1)
    given = orjson.loads(head)
    stated = given.pop("digest")
    sealed = changed.replace(stated.encode(), _digest(given, body).encode()) if DEEP not in head.decode() else changed
    assert sealed != RAW
    with pytest.raises(ErrataError, match=rf"e\.jsonl:{why}"):
        parse_errata(sealed, "e.jsonl")


def test_duplicate_entry_is_refused() -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:3: duplicate entry .*line 2"):
        parse_errata(serialize_errata([ENTRY, replace(ENTRY, new=1)], [], "", ""), "e.jsonl")


@pytest.mark.parametrize("field", ["benchmark", "id", "old", "question_hash"])
def test_missing_field_is_reported_with_its_line(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ErrataEntry.as_json

    def write_without_field(entry: ErrataEntry) -> dict[str, Any]:
        return {name: value for name, value in whole(entry).items() if name != field}

    monkeypatch.setattr(ErrataEntry, "as_json", write_without_field)
    with pytest.raises(ErrataError, match=rf"e\.jsonl:2: {field} is missing"):
        parse_errata(serialize_errata([ENTRY], [], "", ""), "e.jsonl")


def test_only_errata_of_a_benchmark_apply_to_it() -> None:
    errata = parse_errata(RAW)
    part = errata.for_benchmark("bfcl")
    assert part and part.entries and part.rules
    assert errata.for_benchmark("acebench") is None
    more = errata.with_rules(EquivalenceRule("ignore-case"))
    assert more.for_benchmark("acebench") and more.digest != errata.with_rules(EquivalenceRule("number-equal")).digest


def test_question_hash_uses_the_first_user_messages() -> None:
    request = [Message(0, -1, "user", "How many?")]
    runner = [Message(0, -1, "system", "You are ..."), *request, Message(0, 0, "assistant", "f()")]
    assert hash_question(request) == hash_question(runner) != hash_question([Message(0, -1, "user", "How much?")])
