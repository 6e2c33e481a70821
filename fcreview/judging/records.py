"""Lines of a judge's file: its setups, its verdicts, and its incidents.

Each line is a JSON object with the field `act` and a hash of all other fields. A verdict belongs to
the content of an item: its key and the hashes of its prediction and golden answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar

import orjson

from fcreview.model.json_value import json_hash
from fcreview.model.review import ItemKey

RECORD_VERSION = 1
TEST = "test"
"""Split of an item that was not among the judge's examples."""
JudgeSource = Literal["endpoint", "command"]


class RecordError(ValueError):
    """Raised if a line is no valid record. The message states why."""


@dataclass(frozen=True, slots=True)
class ItemContent:
    """What a verdict is about. If the item changes, the verdict becomes stale."""

    key: ItemKey
    prediction_hash: str
    golden_hash: str


@dataclass(frozen=True, slots=True)
class JudgeExample:
    """An item that the judge got as an example, with the verdict that people gave."""

    content: ItemContent
    verdict: bool


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """Everything that decides what a judge is asked. One judge has one setup."""

    source: JudgeSource
    address: str
    """URL of the endpoint, or the command, without keys."""
    model: str
    criterion: str
    template: str
    prompt_hash: str
    parameters: dict[str, Any] = field(default_factory=dict)
    """Further fields of the request, such as the temperature."""
    examples_from: str = ""
    """Value of --examples."""
    examples_text: str = ""
    examples: tuple[JudgeExample, ...] = ()
    time: str = ""

    @property
    def id(self) -> str:
        """Hash of everything but the time: BLAKE2b (8 bytes, as hex)."""
        content = _setup_to_json(self)
        content.pop("time")
        return json_hash(content, 8)

    def describe_difference(self, other: JudgeSetup) -> str:
        """Return which part differs from another setup: `model`, `prompt`, ...; empty if none."""
        parts = {
            "source": (self.source, other.source),
            "address": (self.address, other.address),
            "model": (self.model, other.model),
            "parameters": (self.parameters, other.parameters),
            "criterion": (self.criterion, other.criterion),
            "prompt": (self.template, other.template),
            "examples": (
                (self.examples_from, self.examples_text),
                (other.examples_from, other.examples_text),
            ),
        }
        return ", ".join(name for name, (own, others) in parts.items() if own != others)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict of a judge on an item."""

    setup: str
    """`JudgeSetup.id`."""
    content: ItemContent
    criterion: str
    verdict: bool
    rationale: str
    model: str
    prompt_hash: str
    time: str
    split: str = TEST
    target: str = "item"
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeIncident:
    """A request without a usable verdict. It says nothing about the item."""

    setup: str
    content: ItemContent
    kind: str
    """`FailureKind`, or the kind of a later version."""
    text: str
    time: str
    attempts: int = 1


JudgeRecord = JudgeSetup | Judgement | JudgeIncident
R = TypeVar("R", Judgement, JudgeIncident)

_ACTS: dict[type[JudgeRecord], str] = {
    JudgeSetup: "setup",
    Judgement: "verdict",
    JudgeIncident: "incident",
}


_FIELD_NAMES = {
    record_class: frozenset(each.name for each in fields(record_class)) for record_class in _ACTS
}


def serialize_record(record: JudgeRecord) -> bytes:
    """Return the line of a record, with its newline."""
    if isinstance(record, JudgeSetup):
        content = _setup_to_json(record)
    else:
        content = _flatten_content(asdict(record), record.content)
    line = {"act": _ACTS[type(record)], "version": RECORD_VERSION}
    for name, value in content.items():
        if value is not None:
            line[name] = value

    # The hash is computed from parsed JSON, as a reader does it.
    parsed = orjson.loads(orjson.dumps(line))
    parsed["hash"] = json_hash(parsed, 8)
    return orjson.dumps(parsed, option=orjson.OPT_APPEND_NEWLINE)


def parse_record(line: bytes) -> JudgeRecord:
    """Read a line. Raises RecordError if it is damaged or has fields of a wrong type."""
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise RecordError("the line is not valid JSON") from None
    if not isinstance(content, dict):
        raise RecordError("the line is not a JSON object")
    expected_hash = content.pop("hash", None)
    try:
        is_unchanged = json_hash(content, 8) == expected_hash
    except (TypeError, ValueError, RecursionError):
        raise RecordError("the JSON value is nested too deeply") from None
    if not is_unchanged:
        raise RecordError("the line was altered (its hash does not match its content)")

    try:
        return _read_record(content)
    except (TypeError, KeyError, AttributeError):
        raise RecordError("a field is missing or has a wrong type") from None


def _read_record(content: dict[str, Any]) -> JudgeRecord:
    """Read a record from its JSON fields. Raises RecordError for unknown or wrong ones."""
    match content["act"]:
        case "setup":
            return _read_setup(content)
        case "verdict":
            record = _read_item_record(Judgement, content)
            _check_types(record, {"verdict": bool, "rationale": str, "model": str, "time": str})
            return record
        case "incident":
            incident = _read_item_record(JudgeIncident, content)
            _check_types(incident, {"kind": str, "text": str, "time": str})
            return incident
    raise RecordError("`act` is unknown")


def _setup_to_json(setup: JudgeSetup) -> dict[str, Any]:
    """Return the fields of a setup as they are written to the file."""
    content = {each.name: getattr(setup, each.name) for each in fields(setup)}
    examples = []
    for example in setup.examples:
        examples.append(_flatten_content({"verdict": example.verdict}, example.content))
    content["examples"] = examples
    return content


def _read_setup(content: Mapping[str, Any]) -> JudgeSetup:
    """Read the setup of a judge from its JSON fields. Raises RecordError for wrong ones."""
    values = _select_fields(JudgeSetup, content)
    examples = []
    for example in content.get("examples", []):
        examples.append(JudgeExample(_read_content(example), verdict=example["verdict"]))
    values["examples"] = tuple(examples)
    setup = JudgeSetup(**values)
    _check_types(setup, dict.fromkeys(("source", "address", "model", "template", "criterion"), str))
    return setup


def _read_item_record(record_class: type[R], content: Mapping[str, Any]) -> R:
    values = _select_fields(record_class, content)
    values["content"] = _read_content(content)
    return record_class(**values)


def _select_fields(record_class: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that this version knows. A later version may have added others."""
    names = _FIELD_NAMES[record_class]
    return {name: value for name, value in content.items() if name in names}


def _flatten_content(record: dict[str, Any], content: ItemContent) -> dict[str, Any]:
    """Return the fields of a record with the key and hashes of its answer in place of an object."""
    record.pop("content", None)
    return record | {
        "key": content.key._asdict(),
        "prediction_hash": content.prediction_hash,
        "golden_hash": content.golden_hash,
    }


def _read_content(record: Mapping[str, Any]) -> ItemContent:
    """Return which answer (of which question) a record is about. Raises RecordError if a field is
    not text.
    """
    key = ItemKey(**record["key"])
    content = ItemContent(
        key, prediction_hash=record["prediction_hash"], golden_hash=record["golden_hash"]
    )
    texts = [*key, content.prediction_hash, content.golden_hash]
    if not all(isinstance(text, str) for text in texts):
        raise RecordError("the key of the item is not text")
    return content


def _check_types(record: JudgeRecord, types: Mapping[str, type]) -> None:
    for name, type_ in types.items():
        if type(getattr(record, name)) is not type_:
            raise RecordError(f"`{name}` has a wrong type")
