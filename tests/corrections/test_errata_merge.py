"""Merging two errata files keeps all entries, removes duplicates and reports conflicts."""

from __future__ import annotations

from typing import Any

from fcreview.equivalence import parse_rule
from fcreview.errata import Errata, ErrataEntry, Evidence, combine_errata, parse_errata, serialize_errata


def make_entry(number: int, **fields: Any) -> ErrataEntry:
    given: dict[str, Any] = {"question_hash": "q", "old": {"a": [1]}, "new": {"a": [2]}, "settled_by": ("alice",)}
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
        make_entry(2), make_entry(3), rules=("ignore-case", "power-notation"), date="2026-02-01", who="bob"
    )
    found = combine_errata(here, there)
    assert (found.n_new, found.n_known, found.n_new_rules, found.conflicts) == (1, 1, 1, ())
    assert found.content is not None
    both = parse_errata(found.content)
    assert [key[-1] for key in both.entries] == ["simple_1", "simple_2", "simple_3"]
    assert [str(rule) for rule in both.rules] == ["ignore-case", "number-equal", "power-notation"]
    assert (both.date, both.who) == ("2026-02-01", "alice, bob")
    assert combine_errata(both, there).content is None and combine_errata(both, here).content is None, (
        "merging again changes nothing"
    )
    back = combine_errata(there, here).content
    assert back is not None and list_entries(parse_errata(back)) == list_entries(both), (
        "the order of files does not matter"
    )


def test_reasons_names_and_evidence_of_both_files_are_kept() -> None:
    one = make_entry(1, reasons=("so asked",), evidence=Evidence(3, 1, ("m",)))
    other = make_entry(1, reasons=("so asked", "see its document"), settled_by=("bob",), evidence=Evidence(12, 4))
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
    assert [key[-1] for key in found.conflicts] == ["simple_1", "simple_2", "simple_3"], "1 is not true, 2 not 2.0"
    assert found.content is not None
    made = parse_errata(found.content).entries
    assert all(made[key].as_json() == here.entries[key].as_json() for key in here.entries)
    assert len(made) == 5


def test_merge_with_only_conflicts_changes_nothing() -> None:
    assert combine_errata(make_errata(make_entry(1)), make_errata(make_entry(1, new=None))).content is None
