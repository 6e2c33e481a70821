"""Errata as a file, JSON Lines: `{"format": "fcreview-errata", "version": 1, "date", "who", "goldens", "rules",
"digest"}`, then a line an entry (`"kind": "golden"`) and a line a rule (`"kind": "rule"`).

The digest (blake2b-32, hex) is over the header without it and every byte behind it: it shows that nothing was changed
since, by accident or by hand. It is no proof of who wrote it: for that, sign the file with a tool of your own.

The union of two files of errata: every correction and rule once; what contradicts each other is told. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson

from fcreview.corrections.equivalence import EquivalenceRule
from fcreview.corrections.erratum import ErrataEntry, ErrataError, ErrataKey
from fcreview.model.json_value import MAX_DEPTH, canonical_json, is_nested_deeper

FORMAT, VERSION = "fcreview-errata", 1


@dataclass(frozen=True, slots=True)
class Errata:
    """What runs are read with. Small and picklable."""

    entries: dict[ErrataKey, ErrataEntry] = field(default_factory=dict)
    rules: tuple[EquivalenceRule, ...] = ()
    digest: str = ""
    date: str = ""
    who: str = ""
    path: str = ""
    """Where it was read."""

    def for_benchmark(self, benchmark: str, *, rules: bool = True) -> Errata | None:
        """What of it concerns a benchmark, or only its golden answers; None if nothing does. The digest is of that
        part."""
        entries = {key: one for key, one in self.entries.items() if one.benchmark == benchmark}
        rules_of = tuple(rule for rule in self.rules if rules and rule.benchmark in ("", benchmark))
        if not entries and not rules_of:
            return None
        body = b"".join(_lines([*entries.values()], rules_of))
        return Errata(entries, rules_of, _hash(body), self.date, self.who, self.path)

    def with_rules(self, *rules: EquivalenceRule) -> Errata:
        """With further rules; of no file."""
        every = tuple(dict.fromkeys([*self.rules, *rules]))
        return Errata(self.entries, every, _hash(b"".join(_lines([*self.entries.values()], every))), path=self.path)


def serialize_errata(entries: Sequence[ErrataEntry], rules: Sequence[EquivalenceRule], date: str, who: str) -> bytes:
    """The file. `date` is ISO 8601."""
    body = b"".join(_lines(entries, rules))
    header = {"format": FORMAT, "version": VERSION, "date": date, "who": who}
    header |= {"goldens": len(entries), "rules": len(rules)}
    return _line({**header, "digest": _digest(header, body)}) + body


def parse_errata(raw: bytes, name: str = "") -> Errata:
    """ErrataError, with the line, for what is no such file, was changed, or names an item twice."""
    first, _, body = raw.partition(b"\n")
    header = _object(first, f"{name}:1")
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ErrataError(f"{name}:1: no errata of format {FORMAT}, version {VERSION}")
    stated = header.pop("digest", None)
    if stated != _digest(header, body):
        raise ErrataError(f"{name}: changed since it was written: its digest does not fit")
    entries: dict[ErrataKey, ErrataEntry] = {}
    rules: list[EquivalenceRule] = []
    for number, line in enumerate(body.split(b"\n"), 2):
        where = f"{name}:{number}"
        if not line.strip():
            continue
        record = _object(line, where)
        try:
            if record.get("kind") == "rule":
                rules.append(EquivalenceRule.from_json(record))
                continue
            if record.get("kind") != "golden":
                raise ErrataError(f"kind {record.get('kind')!r}: there are golden and rule")
            entry = ErrataEntry.from_json(record, number)
        except ErrataError as error:
            raise ErrataError(f"{where}: {error}") from None
        if entry.key in entries:
            raise ErrataError(f"{where}: {entry.id} stands in line {entries[entry.key].line} already")
        entries[entry.key] = entry
    date, who = (str(header.get(key, "")) for key in ("date", "who"))
    return Errata(entries, tuple(rules), str(stated), date, who, name)


def serialize_rules(rules: Sequence[EquivalenceRule]) -> bytes:
    """A workspace's accepted rules: the lines that errata have of them."""
    return b"".join(_lines([], rules))


def parse_rules(raw: bytes, name: str) -> list[EquivalenceRule]:
    """ErrataError for a line that is no rule: what was accepted does not silently get lost."""
    found = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                found.append(EquivalenceRule.from_json(_object(line, f"{name}:{number}")))
            except ErrataError as error:
                raise ErrataError(f"{name}:{number}: {error}") from None
    return found


def _lines(entries: Sequence[ErrataEntry], rules: Sequence[EquivalenceRule]) -> Iterator[bytes]:
    yield from (_line(one.as_json()) for one in entries)
    yield from (_line({"kind": "rule", **rule.as_json(), "says": str(rule)}) for rule in rules)


def _line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except ValueError:
        raise ErrataError(f"{where}: no JSON") from None
    if not isinstance(value, dict):
        raise ErrataError(f"{where}: no JSON object")
    if is_nested_deeper(value, MAX_DEPTH):
        raise ErrataError(f"{where}: nested deeper than {MAX_DEPTH} levels")
    return value


def _digest(header: dict[str, Any], body: bytes) -> str:
    return _hash(canonical_json(header) + b"\n" + body)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=32).hexdigest()


@dataclass(frozen=True, slots=True)
class MergedErrataFile:
    content: bytes | None
    """All of it as one file; None if nothing is to be added."""
    n_new: int
    """Golden answers that were not here."""
    n_known: int
    """Golden answers that both have; reasons and names of either side are kept."""
    n_new_rules: int
    """Rules that were not here."""
    conflicts: tuple[ErrataKey, ...]
    """Items that the two correct otherwise, or whose question or old answer is another one: what is here stays."""


def combine_errata(here: Errata, there: Errata) -> MergedErrataFile:
    """What `here` is with the errata of `there`. The other way round gives the same but for conflicts and order."""
    entries = dict(here.entries)
    new, known, conflicts = 0, 0, []
    for key, entry in there.entries.items():
        mine = entries.get(key)
        if mine is None:
            entries[key] = entry
            new += 1
        elif _alike(mine, entry):
            entries[key] = _both(mine, entry)
            known += 1
        else:
            conflicts.append(key)
    rules = tuple(dict.fromkeys([*here.rules, *there.rules]))
    same = [*map(_said, entries.values())] == [*map(_said, here.entries.values())] and len(rules) == len(here.rules)
    who = ", ".join(_union(here.who.split(", "), there.who.split(", ")))
    file = None if same else serialize_errata([*entries.values()], rules, max(here.date, there.date), who)
    return MergedErrataFile(file, new, known, len(rules) - len(here.rules), tuple(conflicts))


def _alike(one: ErrataEntry, other: ErrataEntry) -> bool:
    """Whether both correct the same answer to the same question in the same way."""
    return [canonical_json(each) for each in (one.question_hash, one.old, one.new)] == [
        canonical_json(each) for each in (other.question_hash, other.old, other.new)
    ]


def _both(one: ErrataEntry, other: ErrataEntry) -> ErrataEntry:
    """With what either says of it, and the evidence of more runs."""
    return replace(
        one,
        reasons=_union(one.reasons, other.reasons),
        settled_by=_union(one.settled_by, other.settled_by),
        evidence=max(one.evidence, other.evidence, key=lambda evidence: evidence.runs),
    )


def _union(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in (*one, *other) if each))


def _said(entry: ErrataEntry) -> bytes:
    return canonical_json(entry.as_json())
