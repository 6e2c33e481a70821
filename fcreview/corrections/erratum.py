"""One corrected golden answer: of which item, what it was, what it is, why, and who says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from fcreview.errors import FcreviewError
from fcreview.model.item import Message
from fcreview.model.json_value import json_hash


class ErrataError(FcreviewError):
    """A file of errata, or a rule, that cannot be used; the message says where and why."""


ErrataKey = tuple[str, str, str, str, str]
"""(benchmark, generation, language, category, id)"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the runs that were at hand made of the item by the old golden answer, by the benchmark's own verdict."""

    runs: int = 0
    passed: int = 0
    failed: tuple[str, ...] = ()
    """Models."""


@dataclass(frozen=True, slots=True)
class ErrataEntry:
    benchmark: str
    generation: str
    language: str
    category: str
    id: str
    question_hash: str
    """See `question_hash`."""
    old: Any
    """The golden answer as the dataset's file has it: any JSON."""
    new: Any
    question: str = ""
    """What users say, for readers of the file."""
    reasons: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    decided_by: str = ""
    """`adjudication`, `unanimous` or `majority`."""
    file: str = ""
    """The dataset's file, for its maintainers."""
    title: str = ""
    """The benchmark as people write it: `BFCL V1`."""
    evidence: Evidence = field(default_factory=Evidence)
    line: int = 0
    """Where it stands in the file of errata, from 1."""

    @property
    def key(self) -> ErrataKey:
        return self.benchmark, self.generation, self.language, self.category, self.id

    def as_json(self) -> dict[str, Any]:
        """`{"kind": "golden", "benchmark", ..., "evidence": {"runs", "passed", "failed"}}`: all fields but `line`."""
        found = {"kind": "golden", **asdict(self)}
        del found["line"]
        return found

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], line: int) -> ErrataEntry:
        """ErrataError without the line's place if a field is missing or of another kind."""
        given = {name: raw[name] for name in _TEXTS if isinstance(raw.get(name), str)}
        lacking = [name for name in _NEEDED if name not in (given if name in _TEXTS else raw)]
        if lacking:
            raise ErrataError(f"{lacking[0]} is missing, or no text")
        said = raw.get("evidence")
        proof = said if isinstance(said, Mapping) else {}
        runs, passed = (n if type(n := proof.get(name)) is int else 0 for name in ("runs", "passed"))
        evidence = Evidence(runs, passed, _texts(proof.get("failed")))
        reasons, settled_by = _texts(raw.get("reasons")), _texts(raw.get("settled_by"))
        return cls(
            **given,
            reasons=reasons,
            settled_by=settled_by,
            old=raw["old"],
            new=raw["new"],
            evidence=evidence,
            line=line,
        )


_TEXTS = tuple(one.name for one in fields(ErrataEntry) if one.type == "str")
_NEEDED = ("benchmark", "generation", "language", "category", "id", "question_hash", "old", "new")


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def hash_question(messages: Iterable[Message]) -> str:
    """blake2b-8 hex of what users say to open the turns, as JSON `[[turn, text], ...]`: the same in every run, and
    whatever system message a runner puts before it."""
    said = [[one.turn, one.content] for one in messages if one.role == "user" and one.step == -1]
    return json_hash(said, 8)


def join_user_messages(messages: Iterable[Message]) -> str:
    """What users say, a blank line between."""
    return "\n\n".join(one.content for one in messages if one.role == "user")
