"""Read, write, combine and apply errata files. An errata file contains JSON Lines: a header, a line
for each corrected golden answer, and a line for each equivalence rule.

The header is `{"format": "fcreview-errata", "version": 1, "date", "who", "goldens", "rules",
"digest"}`. The line of a corrected golden answer has `"kind": "golden"`, and the line of a rule has
`"kind": "rule"`.

fcreview computes the digest (BLAKE2b, 32 bytes, as hex) from the header without the field `digest`
and from all bytes after the header. The digest reveals changes to the file, but does not prove who
wrote the file. To prove the author, sign the file with another tool.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any, Literal

import orjson

from fcreview.equivalence import EquivalenceRule, ErrataError
from fcreview.model.item import Erratum, ImportIssue, Message, Run
from fcreview.model.json_value import MAX_DEPTH, canonical_json, is_nested_deeper_than, json_hash

ErrataKey = tuple[str, str, str, str, str]
"""Benchmark, version, language, category and id of an item."""
QUESTION_HASH_BYTES = 8
DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts of official verdicts on an item in all imported runs, with the golden answer before
    its correction.
    """

    runs: int = 0
    passed: int = 0
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErrataEntry:
    """Corrected golden answer, with the reasons for the correction and the annotators who
    decided on it.
    """

    benchmark: str
    generation: str
    language: str
    category: str
    id: str
    question_hash: str
    old: Any
    new: Any
    question: str = ""
    reasons: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    decided_by: str = ""
    """How annotators decided on the correction: `adjudication`, `unanimous` or `majority`."""
    file: str = ""
    """Name of the dataset file that contains the golden answer, for the maintainers of the
    dataset.
    """
    title: str = ""
    """Display name of the benchmark, such as `BFCL V1`."""
    evidence: Evidence = field(default_factory=Evidence)
    line: int = 0

    @property
    def key(self) -> ErrataKey:
        return self.benchmark, self.generation, self.language, self.category, self.id

    def as_json(self) -> dict[str, Any]:
        """Return all fields except `line`: `{"kind": "golden", "benchmark", ..., "evidence":
        {"runs", ...}}`.
        """
        values = {"kind": "golden", **asdict(self)}
        del values["line"]
        return values

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], line: int) -> ErrataEntry:
        """Build an entry from `as_json`.

        Raises ErrataError if a required field is missing or not a string.
        """
        texts = {name: raw[name] for name in _STRING_FIELDS if isinstance(raw.get(name), str)}
        for name in _REQUIRED_FIELDS:
            is_no_string = name in _STRING_FIELDS and name not in texts
            if name not in raw or is_no_string:
                raise ErrataError(f"the field {name} is missing or is not a string")
        return cls(
            **texts,
            old=raw["old"],
            new=raw["new"],
            reasons=_select_strings(raw.get("reasons")),
            settled_by=_select_strings(raw.get("settled_by")),
            evidence=_parse_evidence(raw.get("evidence")),
            line=line,
        )


_STRING_FIELDS = tuple(field.name for field in fields(ErrataEntry) if field.type == "str")
_REQUIRED_FIELDS = (
    "benchmark",
    "generation",
    "language",
    "category",
    "id",
    "question_hash",
    "old",
    "new",
)


def _parse_evidence(raw: Any) -> Evidence:
    """Build evidence from JSON. A field of another form has its default."""
    if not isinstance(raw, Mapping):
        return Evidence()
    return Evidence(
        runs=_select_integer(raw.get("runs")),
        passed=_select_integer(raw.get("passed")),
        failed=_select_strings(raw.get("failed")),
    )


def _select_integer(value: Any) -> int:
    return value if type(value) is int else 0


def _select_strings(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(value for value in values if isinstance(value, str))


def hash_question(messages: Iterable[Message]) -> str:
    """Return a hash of the question: of the user messages with which the turns begin.

    The hash is BLAKE2b with 8 bytes, as hex, of the JSON `[[turn, text], ...]`. It does not depend
    on the system message, which can differ between runs.
    """
    opening = [
        [message.turn, message.content]
        for message in messages
        if message.role == "user" and message.step == -1
    ]
    return json_hash(opening, QUESTION_HASH_BYTES)


def join_user_messages(messages: Iterable[Message]) -> str:
    return "\n\n".join(message.content for message in messages if message.role == "user")


FORMAT = "fcreview-errata"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Errata:
    """Corrected golden answers and equivalence rules for an import.

    The object is small and picklable.
    """

    entries: dict[ErrataKey, ErrataEntry] = field(default_factory=dict)
    rules: tuple[EquivalenceRule, ...] = ()
    digest: str = ""
    date: str = ""
    who: str = ""
    path: str = ""

    def select_for_benchmark(self, benchmark: str, *, include_rules: bool = True) -> Errata | None:
        """Return the errata for a benchmark, without equivalence rules if `include_rules` is false.

        Returns None if there are none. The digest of the result depends only on the selected
        entries and rules.
        """
        entries = {
            key: entry for key, entry in self.entries.items() if entry.benchmark == benchmark
        }
        rules: tuple[EquivalenceRule, ...] = ()
        if include_rules:
            # A rule without a benchmark is for all benchmarks.
            rules = tuple(rule for rule in self.rules if rule.benchmark in ("", benchmark))
        if not entries and not rules:
            return None
        return replace(self, entries=entries, rules=rules, digest=_hash_content(entries, rules))

    def with_rules(self, *rules: EquivalenceRule) -> Errata:
        """Return a copy with additional rules.

        The copy has a new digest, and no date or author.
        """
        all_rules = tuple(dict.fromkeys([*self.rules, *rules]))
        return Errata(
            self.entries,
            all_rules,
            digest=_hash_content(self.entries, all_rules),
            path=self.path,
        )


def serialize_errata(
    entries: Sequence[ErrataEntry], rules: Sequence[EquivalenceRule], date: str, author: str
) -> bytes:
    """Return the content of an errata file. `date` is in the format of ISO 8601."""
    body = b"".join(_serialize_lines(entries, rules))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "date": date,
        "who": author,
        "goldens": len(entries),
        "rules": len(rules),
    }
    header["digest"] = _compute_digest(header, body)
    return _serialize_line(header) + body


def parse_errata(raw: bytes, file_name: str = "") -> Errata:
    """Parse the content of an errata file: corrections of golden answers, and rules that make
    different values equivalent.

    The first line is the header, which contains a digest of the whole content. Each other line is a
    correction (kind `golden`) or a rule (kind `rule`).

    Raises ErrataError if the content has another format, does not match its digest, or contains an
    item twice. Error messages begin with `file_name`.
    """
    first_line, _, body = raw.partition(b"\n")
    header = _parse_header(first_line, file_name)
    digest = header.pop("digest", None)
    if digest != _compute_digest(header, body):
        raise ErrataError(
            f"{file_name}: the file was changed after it was written, so its digest does not match."
            " Restore the file."
        )

    entries: dict[ErrataKey, ErrataEntry] = {}
    rules: list[EquivalenceRule] = []
    for number, record in _parse_json_lines(body, file_name, first_number=2):
        with _add_location_to_errors(file_name, number):
            parsed = _parse_record(record, number)
            if isinstance(parsed, EquivalenceRule):
                rules.append(parsed)
            else:
                _raise_if_corrected_twice(parsed, entries)
                entries[parsed.key] = parsed

    return Errata(
        entries,
        tuple(rules),
        digest=str(digest),
        date=str(header.get("date", "")),
        who=str(header.get("who", "")),
        path=file_name,
    )


def _parse_record(record: dict[str, Any], number: int) -> ErrataEntry | EquivalenceRule:
    """Parse a line of an errata file, of which `number` is the line number."""
    kind = record.get("kind")
    if kind == "golden":
        return ErrataEntry.from_json(record, number)
    if kind == "rule":
        return EquivalenceRule.from_json(record)
    raise ErrataError(f"the field kind must be golden or rule, not {kind!r}")


def _parse_header(line: bytes, file_name: str) -> dict[str, Any]:
    """Parse the first line of an errata file. Raises ErrataError for another format or version."""
    location = f"{file_name}:1"
    header = _parse_json_object(line, location)
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ErrataError(
            f"{location}: this is not an errata file of the format {FORMAT}, version {VERSION}"
        )
    return header


@contextmanager
def _add_location_to_errors(file_name: str, line_number: int) -> Iterator[None]:
    try:
        yield
    except ErrataError as error:
        raise ErrataError(f"{file_name}:{line_number}: {error}") from None


def _raise_if_corrected_twice(
    entry: ErrataEntry, earlier_entries: Mapping[ErrataKey, ErrataEntry]
) -> None:
    earlier = earlier_entries.get(entry.key)
    if earlier is not None:
        raise ErrataError(
            f"{entry.id} already has a correction in line {earlier.line}. Delete one of the lines."
        )


def serialize_rules(rules: Sequence[EquivalenceRule]) -> bytes:
    """Format equivalence rules as lines of an errata file."""
    return b"".join(_serialize_lines([], rules))


def parse_rules(raw: bytes, file_name: str) -> list[EquivalenceRule]:
    """Parse the result of `serialize_rules`.

    Raises ErrataError, with `file_name` first, if a line is not a rule.
    """
    rules = []
    for number, record in _parse_json_lines(raw, file_name, first_number=1):
        with _add_location_to_errors(file_name, number):
            rules.append(EquivalenceRule.from_json(record))
    return rules


def _serialize_lines(
    entries: Iterable[ErrataEntry], rules: Sequence[EquivalenceRule]
) -> Iterator[bytes]:
    """Yield the lines of an errata file after its header: corrections, then rules."""
    for entry in entries:
        yield _serialize_line(entry.as_json())
    for rule in rules:
        yield _serialize_line({"kind": "rule", **rule.as_json(), "says": str(rule)})


def _serialize_line(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _parse_json_lines(
    raw: bytes, file_name: str, first_number: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the JSON object of each line."""
    for number, line in enumerate(raw.split(b"\n"), first_number):
        if line.strip():
            yield number, _parse_json_object(line, f"{file_name}:{number}")


def _parse_json_object(line: bytes, location: str) -> dict[str, Any]:
    """Parse a line, which must be a JSON object that is not nested too deeply.

    Raises ErrataError.
    """
    try:
        value = orjson.loads(line)
    except ValueError:
        raise ErrataError(f"{location}: the line is not JSON") from None
    if not isinstance(value, dict):
        raise ErrataError(f"{location}: the line is not a JSON object")
    if is_nested_deeper_than(value, MAX_DEPTH):
        raise ErrataError(f"{location}: the line is nested deeper than {MAX_DEPTH} levels")
    return value


def _compute_digest(header: dict[str, Any], body: bytes) -> str:
    return _hash(canonical_json(header) + b"\n" + body)


def _hash_content(
    entries: Mapping[ErrataKey, ErrataEntry], rules: Sequence[EquivalenceRule]
) -> str:
    """Return the digest of errata without a header, which have no file of their own."""
    return _hash(b"".join(_serialize_lines(entries.values(), rules)))


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


@dataclass(frozen=True, slots=True)
class CombinedErrata:
    """Result of combining two sets of errata with `combine_errata`."""

    content: bytes | None
    """Content of the combined file; None if the other set contains nothing new."""
    n_new: int
    n_known: int
    """Number of corrections that are in both sets. fcreview combines their reasons and
    annotators.
    """
    n_new_rules: int
    conflicts: tuple[ErrataKey, ...]
    """Items that the two sets correct differently.

    The combined file contains your own correction.
    """


def combine_errata(own: Errata, other: Errata) -> CombinedErrata:
    """Combine own errata with those of somebody else into the content of one errata file.

    If both correct an item differently, the own correction stays, and the item is listed as a
    conflict. The content is None if the other errata add nothing.
    """
    entries = dict(own.entries)
    n_new = 0
    n_known = 0
    conflicts: list[ErrataKey] = []
    for key, entry in other.entries.items():
        own_entry = own.entries.get(key)
        if own_entry is None:
            entries[key] = entry
            n_new += 1
        elif _is_same_correction(own_entry, entry):
            entries[key] = _combine_entries(own_entry, entry)
            n_known += 1
        else:
            conflicts.append(key)

    rules = tuple(dict.fromkeys([*own.rules, *other.rules]))
    n_new_rules = len(rules) - len(own.rules)
    # A known correction can still add reasons or names of people to the own entry.
    has_changed_entries = _list_json_texts(entries) != _list_json_texts(own.entries)
    content = None
    if n_new_rules > 0 or has_changed_entries:
        content = _serialize_combined(own, other, list(entries.values()), rules)
    return CombinedErrata(
        content,
        n_new=n_new,
        n_known=n_known,
        n_new_rules=n_new_rules,
        conflicts=tuple(conflicts),
    )


def _serialize_combined(
    own: Errata,
    other: Errata,
    entries: Sequence[ErrataEntry],
    rules: Sequence[EquivalenceRule],
) -> bytes:
    """Return the content of a file with these entries and rules. It has the later date, and the
    authors of both errata.
    """
    authors = _select_distinct(*own.who.split(", "), *other.who.split(", "))
    return serialize_errata(
        entries, rules, date=max(own.date, other.date), author=", ".join(authors)
    )


def _list_json_texts(entries: Mapping[ErrataKey, ErrataEntry]) -> list[bytes]:
    return [canonical_json(entry.as_json()) for entry in entries.values()]


def _is_same_correction(first: ErrataEntry, second: ErrataEntry) -> bool:
    """Whether two entries replace the same golden answer of the same question in the same way."""
    first_content = [first.question_hash, first.old, first.new]
    second_content = [second.question_hash, second.old, second.new]
    return is_same_json(first_content, second_content)


def _combine_entries(first: ErrataEntry, second: ErrataEntry) -> ErrataEntry:
    """Combine two equal corrections of an item: the reasons and names of both, and the evidence
    from more runs.
    """
    return replace(
        first,
        reasons=_select_distinct(*first.reasons, *second.reasons),
        settled_by=_select_distinct(*first.settled_by, *second.settled_by),
        evidence=max(first.evidence, second.evidence, key=lambda evidence: evidence.runs),
    )


def _select_distinct(*texts: str) -> tuple[str, ...]:
    """Return the texts that are not empty, each once."""
    return tuple(dict.fromkeys(text for text in texts if text))


@dataclass(frozen=True, slots=True)
class GoldenCorrection:
    entry: ErrataEntry | None = None
    """Entry to apply; None if there is no entry or it is stale."""
    erratum: Erratum | None = None
    """The applied or stale entry in the form that the item screen shows."""


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two values have the same JSON text, so that `1`, `1.0` and `true` are all
    different.
    """
    return canonical_json(one) == canonical_json(other)


class CategoryCorrections:
    """Errata entries for the items of one category of a run.

    Each call of `find_correction` adds a warning to `issues` if the item's entry is stale, or a
    notice if the item no longer needs a correction.
    """

    def __init__(
        self,
        errata: Errata,
        run: Run,
        category: str,
        is_same: Callable[[Any, Any], bool] = is_same_json,
    ) -> None:
        """Find the entries for the category. `is_same` compares golden answers."""
        self.run = run
        self.issues: list[ImportIssue] = []
        self._errata = errata
        self._is_same = is_same
        dataset = (run.benchmark, run.generation, run.language, category)
        self.entries: dict[str, ErrataEntry] = {}
        """Item id -> its entry."""
        for entry in errata.entries.values():
            if (entry.benchmark, entry.generation, entry.language, entry.category) == dataset:
                self.entries[entry.id] = entry

    def find_correction(
        self, item_id: str, golden: Any, messages: Iterable[Message]
    ) -> GoldenCorrection:
        """Return the corrected golden answer of an item, if the errata have an entry for it.

        The entry counts only if the item's question and golden answer are still those for which it
        was written. Otherwise, an import issue is added.
        """
        entry = self.entries.get(item_id)
        if entry is None:
            return GoldenCorrection()
        if hash_question(messages) != entry.question_hash:
            return self.report_stale_entry(entry, "the question has changed")
        if self._is_same(golden, entry.old):
            return GoldenCorrection(entry, self._make_erratum(entry, old_golden=entry.old))
        if self._is_same(golden, entry.new):
            self._add_issue(
                entry, "erratum not needed: the dataset already has this golden answer", "notice"
            )
            return GoldenCorrection()
        return self.report_stale_entry(
            entry, "the dataset's golden answer is neither the old nor the new one"
        )

    def report_stale_entry(self, entry: ErrataEntry, reason: str) -> GoldenCorrection:
        """Add a warning to `issues`.

        Return a correction that changes nothing and states the reason.
        """
        self._add_issue(entry, f"stale erratum, not applied: {reason}", "warning")
        return GoldenCorrection(None, self._make_erratum(entry, stale_reason=reason))

    def report_absent_items(self, dataset_ids: Container[str]) -> None:
        """Report each entry whose item the dataset does not contain as stale."""
        for item_id, entry in self.entries.items():
            if item_id not in dataset_ids:
                self.report_stale_entry(entry, "the dataset does not contain the item")

    def _make_erratum(
        self, entry: ErrataEntry, *, old_golden: Any = None, stale_reason: str = ""
    ) -> Erratum:
        """Return the note on an item that says what the errata file changed, or why it did not."""
        return Erratum(
            [*entry.settled_by],
            date=self._errata.date,
            reasons=[*entry.reasons],
            old=old_golden,
            stale=stale_reason,
        )

    def _add_issue(
        self, entry: ErrataEntry, message: str, severity: Literal["warning", "notice"]
    ) -> None:
        """Report a problem with an entry of the errata file."""
        self.issues.append(
            ImportIssue(
                self._errata.path, entry.line, what=message, item=entry.id, severity=severity
            )
        )
