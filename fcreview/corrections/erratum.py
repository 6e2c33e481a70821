"""Define one correction of a golden answer in an errata file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fcreview.corrections.equivalence import ErrataError
from fcreview.model.item import Message
from fcreview.model.json_value import json_hash


ErrataKey = tuple[str, str, str, str, str]
"""Identity of a corrected item: (benchmark, generation, language, category, id)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Official verdicts of the available runs on an item. They were computed with the old golden answer."""

    runs: int = 0
    """Number of runs that contain the item."""
    passed: int = 0
    """Number of runs that pass the item."""
    failed: tuple[str, ...] = ()
    """Models of the runs that fail the item."""


@dataclass(frozen=True, slots=True)
class ErrataEntry:
    """A corrected golden answer, with the reasons and the annotators who decided on it."""

    benchmark: str
    generation: str
    language: str
    category: str
    id: str
    question_hash: str
    """Hash of the question, from `hash_question`."""
    old: Any
    """Golden answer in the dataset; any JSON."""
    new: Any
    """Corrected golden answer; any JSON."""
    question: str = ""
    """Messages of the user, for readers of the file."""
    reasons: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    """Names of the annotators who decided on the correction."""
    decided_by: str = ""
    """How the correction was decided: `adjudication`, `unanimous` or `majority`."""
    file: str = ""
    """Dataset file that contains the golden answer, as information for the maintainers of the dataset."""
    title: str = ""
    """Display name of the benchmark, such as `BFCL V1`."""
    evidence: Evidence = field(default_factory=Evidence)
    line: int = 0
    """Line in the errata file, from 1."""

    @property
    def key(self) -> ErrataKey:
        """Identity of the item."""
        return self.benchmark, self.generation, self.language, self.category, self.id

    def as_json(self) -> dict[str, Any]:
        """Return all fields but `line`: `{"kind": "golden", "benchmark", ..., "evidence": {"runs", ...}}`."""
        values = {"kind": "golden", **asdict(self)}
        del values["line"]
        return values

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], line: int) -> ErrataEntry:
        """Build from the result of `as_json`. Raises ErrataError if a required field is missing or not a string."""
        texts = {name: raw[name] for name in _STRING_FIELDS if isinstance(raw.get(name), str)}
        missing = [name for name in _REQUIRED_FIELDS if name not in (texts if name in _STRING_FIELDS else raw)]
        if missing:
            raise ErrataError(f"{missing[0]} is missing or not a string")
        stored = raw.get("evidence")
        proof = stored if isinstance(stored, Mapping) else {}
        runs, passed = (n if type(n := proof.get(name)) is int else 0 for name in ("runs", "passed"))
        return cls(
            **texts,
            old=raw["old"],
            new=raw["new"],
            reasons=_select_strings(raw.get("reasons")),
            settled_by=_select_strings(raw.get("settled_by")),
            evidence=Evidence(runs, passed, _select_strings(proof.get("failed"))),
            line=line,
        )


_STRING_FIELDS = tuple(one.name for one in fields(ErrataEntry) if one.type == "str")
_REQUIRED_FIELDS = ("benchmark", "generation", "language", "category", "id", "question_hash", "old", "new")


def _select_strings(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def hash_question(messages: Iterable[Message]) -> str:
    """Hash the user messages that open the turns: BLAKE2b (8 bytes, as hex) of the JSON `[[turn, text], ...]`.

    The hash is the same in every run, because it does not cover the system message of the benchmark's runner.
    """
    opening = [[one.turn, one.content] for one in messages if one.role == "user" and one.step == -1]
    return json_hash(opening, 8)


def join_user_messages(messages: Iterable[Message]) -> str:
    """Join the user messages with blank lines."""
    return "\n\n".join(one.content for one in messages if one.role == "user")
