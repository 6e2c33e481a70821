"""Two files of errata as one: nothing is lost, nothing is there twice, and what contradicts is told."""

from __future__ import annotations

from typing import Any

from fcreview.corrections.equivalence import parse_rule
from fcreview.corrections.errata_file import Errata, read_errata, united, write_errata
from fcreview.corrections.erratum import Entry, Evidence


def entry(number: int, **fields: Any) -> Entry:
    given: dict[str, Any] = {"question_hash": "q", "old": {"a": [1]}, "new": {"a": [2]}, "settled_by": ("alice",)}
    return Entry("bfcl", "V1", "en", "simple", f"simple_{number}", **(given | fields))


def errata(*entries: Entry, rules: tuple[str, ...] = (), date: str = "2026-01-01", who: str = "alice") -> Errata:
    return read_errata(write_errata(entries, [parse_rule(rule) for rule in rules], date, who))


def said(errata: Errata) -> dict[str, Any]:
    return {entry.id: entry.as_json() for entry in errata.entries.values()}


def test_every_correction_and_rule_is_there_once() -> None:
    here = errata(entry(1), entry(2), rules=("ignore-case", "number-equal"))
    there = errata(entry(2), entry(3), rules=("ignore-case", "power-notation"), date="2026-02-01", who="bob")
    found = united(here, there)
    assert (found.new, found.known, found.rules, found.conflicts) == (1, 1, 1, ())
    assert found.file is not None
    both = read_errata(found.file)
    assert [key[-1] for key in both.entries] == ["simple_1", "simple_2", "simple_3"]
    assert [str(rule) for rule in both.rules] == ["ignore-case", "number-equal", "power-notation"]
    assert (both.date, both.who) == ("2026-02-01", "alice, bob")
    assert united(both, there).file is None and united(both, here).file is None, "merging again changes nothing"
    back = united(there, here).file
    assert back is not None and said(read_errata(back)) == said(both), "the other way round gives the same"


def test_reasons_names_and_evidence_of_both_are_kept() -> None:
    one = entry(1, reasons=("so asked",), evidence=Evidence(3, 1, ("m",)))
    other = entry(1, reasons=("so asked", "see its document"), settled_by=("bob",), evidence=Evidence(12, 4))
    found = united(errata(one), errata(other))
    assert (found.new, found.known) == (0, 1) and found.file is not None
    (made,) = read_errata(found.file).entries.values()
    assert made.reasons == ("so asked", "see its document")
    assert made.settled_by == ("alice", "bob")
    assert made.evidence.runs == 12


def test_another_correction_of_the_same_item_is_told_and_what_is_here_stays() -> None:
    here = errata(entry(1), entry(2), entry(3), entry(4))
    there = errata(
        entry(1, new={"a": [2.0]}), entry(2, old={"a": [True]}), entry(3, question_hash="other"), entry(4), entry(5)
    )
    found = united(here, there)
    assert [key[-1] for key in found.conflicts] == ["simple_1", "simple_2", "simple_3"], "1 is not true, 2 not 2.0"
    assert found.file is not None
    made = read_errata(found.file).entries
    assert all(made[key].as_json() == here.entries[key].as_json() for key in here.entries)
    assert len(made) == 5


def test_conflicts_alone_change_nothing() -> None:
    assert united(errata(entry(1)), errata(entry(1, new=None))).file is None
