"""An errata file is read back unchanged, and a modified file is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from fcreview.equivalence import EquivalenceRule, parse_rule
from fcreview.errata import (
    Errata,
    ErrataEntry,
    ErrataError,
    Evidence,
    _compute_digest,
    combine_errata,
    hash_question,
    parse_errata,
    serialize_errata,
)
from fcreview.model.item import Message

ENTRY = ErrataEntry(
    "bfcl",
    "V4",
    "en",
    "simple_python",
    "simple_python_0",
    "ab",
    [{"f": {"a": [1]}}],
    [{"f": {"a": [2]}}],
    "How many?\u2028",
    ("two, \u202e not one",),
    ("ann",),
    "adjudication",
    "BFCL_v4_simple_python.json",
    "BFCL V4",
    Evidence(3, 1, ("maple", "birch")),
    2,
)
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
    [
        RAW.replace(b'"a":[2]', b'"a":[3]'),
        RAW.replace(b'"who":"ann"', b'"who":"bob"', 1),
        RAW[:-2],
        RAW + b"{}\n",
    ],
)
def test_modified_file_is_refused(changed: bytes) -> None:
    assert changed != RAW
    with pytest.raises(ErrataError, match="changed after"):
        parse_errata(changed, "e.jsonl")


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b"\xff", b'{"format": "fcreview-errata", "version": 2}']
)
def test_files_of_other_formats_are_refused(raw: bytes) -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:1: "):
        parse_errata(raw, "e.jsonl")


DEEP = f"{'[' * 200}{']' * 200}"


@pytest.mark.parametrize(
    ("was", "is_", "why"),
    [
        (b'"rule":"accept"', b'"rule":["accept"]', "3: unknown rule"),
        (b'"rule":"accept"', b'"rule":{}', "3: unknown rule"),
        (b'"given":5.0', f'"given":{DEEP}'.encode(), "3: the line is nested deeper"),
        (b'"old":[{"f":{"a":[1]}}]', f'"old":{DEEP}'.encode(), "2: the line is nested deeper"),
        (b'"who":"ann"', f'"who":{DEEP}'.encode(), "1: the line is nested deeper"),
    ],
)
def test_invalid_content_with_a_valid_digest_is_refused(was: bytes, is_: bytes, why: str) -> None:
    head, body = RAW.split(b"\n", 1)
    changed = (
        (head.replace(was, is_, 1) + b"\n" + body)
        if was in head
        else head + b"\n" + body.replace(was, is_, 1)
    )
    head, body = changed.split(b"\n", 1)
    given = orjson.loads(head)
    stated = given.pop("digest")
    digest = _compute_digest(given, body).encode()
    sealed = changed.replace(stated.encode(), digest) if DEEP not in head.decode() else changed
    assert sealed != RAW
    with pytest.raises(ErrataError, match=rf"e\.jsonl:{why}"):
        parse_errata(sealed, "e.jsonl")


def test_duplicate_entry_is_refused() -> None:
    with pytest.raises(ErrataError, match=r"e\.jsonl:3: .*already has a correction in line 2"):
        parse_errata(serialize_errata([ENTRY, replace(ENTRY, new=1)], [], "", ""), "e.jsonl")


@pytest.mark.parametrize("field", ["benchmark", "id", "old", "question_hash"])
def test_missing_field_is_reported_with_its_line(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ErrataEntry.as_json

    def write_without_field(entry: ErrataEntry) -> dict[str, Any]:
        return {name: value for name, value in whole(entry).items() if name != field}

    monkeypatch.setattr(ErrataEntry, "as_json", write_without_field)
    with pytest.raises(ErrataError, match=rf"e\.jsonl:2: the field {field} is missing"):
        parse_errata(serialize_errata([ENTRY], [], "", ""), "e.jsonl")


def test_only_errata_of_a_benchmark_apply_to_it() -> None:
    errata = parse_errata(RAW)
    part = errata.select_for_benchmark("bfcl")
    assert part and part.entries and part.rules
    assert errata.select_for_benchmark("acebench") is None
    more = errata.with_rules(EquivalenceRule("ignore-case"))
    assert (
        more.select_for_benchmark("acebench")
        and more.digest != errata.with_rules(EquivalenceRule("number-equal")).digest
    )


def test_question_hash_uses_the_first_user_messages() -> None:
    request = [Message(0, -1, role="user", content="How many?")]
    runner = [
        Message(0, -1, role="system", content="You are ..."),
        *request,
        Message(0, 0, role="assistant", content="f()"),
    ]
    assert (
        hash_question(request)
        == hash_question(runner)
        != hash_question([Message(0, -1, role="user", content="How much?")])
    )


def make_entry(number: int, **fields: Any) -> ErrataEntry:
    given: dict[str, Any] = {
        "question_hash": "q",
        "old": {"a": [1]},
        "new": {"a": [2]},
        "settled_by": ("alice",),
    }
    return ErrataEntry("bfcl", "V1", "en", "simple", f"simple_{number}", **(given | fields))


def make_errata(
    *entries: ErrataEntry, rules: tuple[str, ...] = (), date: str = "2026-01-01", who: str = "alice"
) -> Errata:
    return parse_errata(serialize_errata(entries, [parse_rule(rule) for rule in rules], date, who))


def list_entries(errata: Errata) -> dict[str, Any]:
    return {entry.id: entry.as_json() for entry in errata.entries.values()}


def test_merged_file_has_each_entry_and_rule_once() -> None:
    here = make_errata(make_entry(1), make_entry(2), rules=("ignore-case", "number-equal"))
    there = make_errata(
        make_entry(2),
        make_entry(3),
        rules=("ignore-case", "power-notation"),
        date="2026-02-01",
        who="bob",
    )
    found = combine_errata(here, there)
    assert (found.n_new, found.n_known, found.n_new_rules, found.conflicts) == (1, 1, 1, ())
    assert found.content is not None
    both = parse_errata(found.content)
    assert [key[-1] for key in both.entries] == ["simple_1", "simple_2", "simple_3"]
    assert [str(rule) for rule in both.rules] == ["ignore-case", "number-equal", "power-notation"]
    assert (both.date, both.who) == ("2026-02-01", "alice, bob")
    assert (
        combine_errata(both, there).content is None and combine_errata(both, here).content is None
    ), "merging again changes nothing"
    back = combine_errata(there, here).content
    assert back is not None and list_entries(parse_errata(back)) == list_entries(both), (
        "the order of files does not matter"
    )


def test_reasons_names_and_evidence_of_both_files_are_kept() -> None:
    one = make_entry(1, reasons=("so asked",), evidence=Evidence(3, 1, ("m",)))
    other = make_entry(
        1, reasons=("so asked", "see its document"), settled_by=("bob",), evidence=Evidence(12, 4)
    )
    found = combine_errata(make_errata(one), make_errata(other))
    assert (found.n_new, found.n_known) == (0, 1) and found.content is not None
    (made,) = parse_errata(found.content).entries.values()
    assert made.reasons == ("so asked", "see its document")
    assert made.settled_by == ("alice", "bob")
    assert made.evidence.runs == 12


def test_conflicting_correction_is_reported_and_not_merged() -> None:
    here = make_errata(make_entry(1), make_entry(2), make_entry(3), make_entry(4))
    there = make_errata(
        make_entry(1, new={"a": [2.0]}),
        make_entry(2, old={"a": [True]}),
        make_entry(3, question_hash="other"),
        make_entry(4),
        make_entry(5),
    )
    found = combine_errata(here, there)
    assert [key[-1] for key in found.conflicts] == ["simple_1", "simple_2", "simple_3"], (
        "1 is not true, 2 not 2.0"
    )
    assert found.content is not None
    made = parse_errata(found.content).entries
    assert all(made[key].as_json() == here.entries[key].as_json() for key in here.entries)
    assert len(made) == 5


def test_merge_with_only_conflicts_changes_nothing() -> None:
    assert (
        combine_errata(make_errata(make_entry(1)), make_errata(make_entry(1, new=None))).content
        is None
    )
