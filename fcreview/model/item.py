"""Define the data model of an imported run: runs, items, messages, calls, call pairs and verdicts.

The classes are dataclasses with slots, which are fast enough for every imported item: building a
pydantic model takes four times as long, and orjson writes dataclasses directly. pydantic validates
only data that people write (reviews and the generic format).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass
from operator import attrgetter
from typing import Any, Literal, TypeVar, get_args

from fcreview.model.incident import Incident, IncidentCertainty, IncidentKind, is_counted_incident


@dataclass(slots=True)
class RecordLocation:
    """Location of a raw record in a file.

    `line` is from 1, or 0 if unknown. `offset` and `length` are in bytes.
    """

    file: str
    line: int = 0
    offset: int = 0
    length: int = 0


ABSENT = "(not there)"
"""Placeholder in a `StateDifference` for a side on which the attribute does not exist."""


@dataclass(slots=True)
class StateDifference:
    """JSON values that an attribute of the environment has after the golden calls and after the
    predicted calls.
    """

    golden: Any
    predicted: Any


@dataclass(slots=True)
class RecomputedVerdict:
    """Verdict on an item that fcreview recomputed from the benchmark's rules."""

    valid: bool | None
    error_type: str | None = None


@dataclass(slots=True)
class Erratum:
    """Correction of an item's golden answer, from the errata with which fcreview imported the
    run.
    """

    who: list[str]
    date: str
    reasons: list[str]
    old: Any = None
    stale: str = ""
    """Why fcreview does not apply the correction, so that the golden answer of the dataset
    counts; else empty.
    """


@dataclass(slots=True)
class RecordedReview:
    """Decision of a person in the run's files, such as an edited score. The item screen shows the
    decision with its author and reason. It becomes a review only if `import-labels` imports it.
    """

    source: str
    author: str
    verdict: Any
    """Verdict as JSON; None if the person changed only the explanation."""
    target: str = "item"
    criterion: str = "correct"
    reason: str | None = None
    time: str | None = None
    events: list[str] = field(default_factory=list)
    """Ids of the journal events of the decision, if fcreview exported it to the file; otherwise
    empty.
    """
    fault: str | None = None
    tags: list[str] = field(default_factory=list)


def _dataclass_to_dict(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _convert_extra_value(name: str, value: Any) -> Any:
    """Return the value of a field of `Extra` as JSON."""
    if name == "state_differences":
        return {
            attribute: _dataclass_to_dict(difference) for attribute, difference in value.items()
        }
    if name == "recorded_reviews":
        return [_dataclass_to_dict(review) for review in value]
    if is_dataclass(value):
        return _dataclass_to_dict(value)
    return value


_JSON_KEYS = {"compared_with": "held_against", "metadata": "more"}
"""Field of `Extra` -> JSON key, for the fields whose JSON key differs from the name of the
field.
"""
_OMITTED_IF_EMPTY = ("metadata", "recorded_reviews")


@dataclass(slots=True)
class Extra:
    """Optional data of an item, stored as one JSON object.

    Importers set the fields for which they have data.
    """

    failing_turn: int | None = None
    """Turn, from 0, at which the checker stopped.

    The item screen opens at this turn, and marks and unfolds it.
    """
    state_differences: dict[str, StateDifference] | None = None
    """Attribute of the environment -> its values after the golden and after the predicted calls, if
    the values differ. The item screen shows them in a table at the end of the failing turn, or of
    the last turn if no turn fails.
    """
    golden_reply: str | None = None
    """Golden reply or its required content, if the benchmark judges a reply.

    Blind review shows it too.
    """
    golden_labels: list[str] | None = None
    """Labels of the golden reply.

    The item screen shows them next to a judge's labels of the predicted reply.
    """
    compared_with: dict[str, int] | None = None
    """Address of an unpaired predicted call -> `Call.index` of the golden call with which the
    benchmark compared it.
    """
    uncounted_states: str | None = None
    """States of call pairs that are not errors by the benchmark's rules: `+` if the benchmark
    allows additional calls, or `-!+` if it compares only the effect of calls. Set only if the
    benchmark judges whole conversations.
    """
    user_calls: list[list[int]] | None = None
    """[turn, `Call.index`] of each predicted call that the simulated user made instead of the
    model.
    """
    accepted_answers: list[Any] | None = None
    """Accepted final answers as JSON values, if the benchmark judges a final answer.

    Blind review shows them too.
    """
    final_answer: str | None = None
    golden_record: dict[str, Any] | None = None
    """Golden answer in the form of a golden fix, if it has more than calls.

    The golden editor starts with it.
    """
    score_record: RecordLocation | None = None
    needs: list[list[str]] | None = None
    """Lists of addresses of parts. If annotators review parts, the item passes if at least one part
    of each list passes. None means that all call pairs of all turns must pass.
    """
    without_errata: RecomputedVerdict | None = None
    """Recomputed verdict with the golden answer of the dataset.

    Set only if errata changed the golden answer.
    """
    erratum: Erratum | None = None
    """Correction of the golden answer, applied or stale.

    The item screen shows it below the calls.
    """
    recorded_reviews: list[RecordedReview] = field(default_factory=list)
    redacted: bool = False
    """Whether fcreview removed keys of third-party APIs from the item.

    It then removes them from raw records too.
    """
    metadata: dict[str, Any] = field(default_factory=dict)
    """Name -> JSON value, for data that only this benchmark has. The item screen lists the values,
    but hides them in blind review. Only the benchmark's own metrics may read a value by its name
    (`ScoredItem.metadata`).
    """

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are set: `{"failing_turn": 1, "more": {"path": ["a.b"]}}`. The
        JSON keys are the names of the fields, except for `_JSON_KEYS`.
        """
        json_object: dict[str, Any] = {}
        for name, value in zip(self.__slots__, _extra_values(self), strict=True):
            is_unset = value is None or value is False
            is_empty = not value and name in _OMITTED_IF_EMPTY
            if is_unset or is_empty:
                continue
            key = _JSON_KEYS.get(name, name)
            json_object[key] = _convert_extra_value(name, value)
        return json_object

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Extra:
        """Build an `Extra` from the result of `as_json`. Raises TypeError for an unknown key."""
        values: dict[str, Any] = dict(value or {})
        for name, key in _JSON_KEYS.items():
            if key in values:
                values[name] = values.pop(key)

        for name, record_class in _EXTRA_RECORDS.items():
            if name in values:
                values[name] = record_class(**values[name])
        if "state_differences" in values:
            values["state_differences"] = {
                attribute: StateDifference(**difference)
                for attribute, difference in values["state_differences"].items()
            }
        if "recorded_reviews" in values:
            values["recorded_reviews"] = [
                RecordedReview(**review) for review in values["recorded_reviews"]
            ]
        return cls(**values)


_extra_values = attrgetter(*Extra.__slots__)
_EXTRA_RECORDS: dict[str, type[Any]] = {
    "score_record": RecordLocation,
    "without_errata": RecomputedVerdict,
    "erratum": Erratum,
}
"""Field of `Extra` -> class of its value, for the fields with a single dataclass."""


Side = Literal["golden", "predicted"]
Role = Literal["system", "user", "assistant", "tool", "state", "log", "other"]
"""Role of a message. The model did not see messages with the role `state` (environment) or `log`
(runner). `other` stands for a role that the format does not define; `Message.name` is then the role
in the file.
"""
GOLDEN_CALL = "golden call"
"""`Message.name` of a message that quotes a golden call from an earlier turn.

The content is the call as JSON.
"""
UNKNOWN_PARTS = "unknown parts"
"""`Message.name` of a message with the role `log` that quotes the parts of a message that fcreview
does not know. The content is their JSON.
"""
SIMULATED_USER_INSTRUCTION = "instruction to the simulated user"
"""`Message.name` of the instruction to a simulated user. The model does not see it."""
SourceName = Literal["official", "rule", "judge", "human"]
DiffState = Literal["=", "~", "!", "-", "+", " "]
"""State of a comparison. In this order: equal, equal after normalisation, different, missing in the
prediction, not in the golden answer, and not in the golden answer but allowed
(`Extra.uncounted_states`).
"""

T = TypeVar("T")


class SharedList(list[T]):
    """List that many items share, so that fcreview computes its JSON only once.

    It must not be changed.
    """

    __slots__ = ("__weakref__", "json_text")

    def __init__(self, values: Iterable[T] = ()) -> None:
        super().__init__(values)
        self.json_text: bytes | None = None


ItemFlag = Literal["undecoded", "other_reply", "scored_twice", "judge_failed"]
"""Something that `fcreview check` counts and the filter key `flag` finds:

* `undecoded`: the reply holds the text of a call that the decoder did not read, or a call with a
  `decode_error`
* `other_reply`: the score entry of the item quotes another reply than the result file contains
* `scored_twice`: the score file has several entries for the item
* `judge_failed`: a judge or scorer gave no verdict because it failed (`Verdict.failure`)
"""
ITEM_FLAGS: tuple[ItemFlag, ...] = get_args(ItemFlag)

RUN_SPECIFIC_FIELDS = (
    "tokens_in",
    "tokens_out",
    "latency",
    "seconds",
    "incident",
    "incident_text",
    "incident_where",
    "incident_certainty",
    "flags",
    "file",
    "line",
    "offset",
    "length",
)


@dataclass(slots=True)
class Message:
    turn: int
    step: int
    """Step of the model in the turn, from 0.

    Messages of the user or the system that open the turn have the step -1.
    """
    _: KW_ONLY
    role: Role
    content: str
    name: str | None = None
    """Name of the tool, environment class or speaker, if the role does not identify the author."""


@dataclass(slots=True)
class TaskSection:
    """A part of the task that is neither a message nor a golden call, such as its purpose or the
    initial state.
    """

    title: str
    text: str
    reveals_golden: bool = False
    """Whether the text states the expected outcome, as assertions do.

    Blind review then hides the section.
    """


@dataclass(slots=True)
class AcceptedValues:
    """Values that a golden answer accepts for one argument. Each value is plain JSON. At any depth,
    it can contain a `GoldenObject`, if the golden answer accepts several values for a field of an
    object.
    """

    any_of: list[Any]
    optional: bool = False


@dataclass(slots=True)
class GoldenObject:
    """Golden object with accepted values for each field, stored as `{"fields": {name: {"any_of":
    [...]}}}`.
    """

    fields: dict[str, AcceptedValues]


@dataclass(slots=True)
class Call:
    side: Side
    name: str
    _: KW_ONLY
    arguments: dict[str, Any] | None
    """Name -> JSON value (predicted call) or `AcceptedValues` (golden call).

    None if the call could not be decoded.
    """
    turn: int = 0
    step: int = 0
    index: int = 0
    """Position of the call, from 0, among all golden or all predicted calls of the turn."""
    raw: str | None = None
    """Text from which the importer decoded the call, if it contains more than the name and the
    arguments.
    """
    decode_error: str | None = None


@dataclass(slots=True)
class ArgumentDiff:
    """A difference in one argument or in one of its nested values."""

    path: str
    """Path of the value that differs: `city`, `filter.price`, `items[2].name`; empty if the call
    as a whole differs.
    """
    _: KW_ONLY
    state: DiffState
    reason: str


@dataclass(slots=True)
class CallPair:
    """A golden call and its predicted call.

    The pair of a missing or extra call has only one call.
    """

    turn: int
    golden: int | None
    """`Call.index` of the golden call in this turn; None for an extra call."""
    predicted: int | None
    """`Call.index` of the predicted call in this turn; None for a missing call."""
    name: str
    """Function of the golden call, or of the predicted call if there is no golden call."""
    state: DiffState
    """Most severe difference: `-` missing, `+` unexpected, `!` different, `~` equivalent, `=`
    equal.
    """
    diff: list[ArgumentDiff] = field(default_factory=list)


@dataclass(slots=True)
class Verdict:
    """Verdict of one source on a target and criterion. `value` is JSON: true or false, a number, a
    list of labels, or null if the source was asked but gave no answer.
    """

    source: SourceName
    value: Any
    _: KW_ONLY
    target: str = "item"
    """Address of the target: `item`, `turn:2`, `turn:2/call:1`, `turn:2/call:1/arg:city` or
    `response`.
    """
    criterion: str = "correct"
    """Criterion of the verdict (see `fcreview.model.verdict`).

    Pass rates are computed from `item` and `correct`.
    """
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = None
    """Origin of the verdict: the judge model, the tier of the checker, or the score file."""
    failure: str | None = None
    """Why the judge or scorer gave no verdict, if it failed: `the judge's reply is not JSON`.

    `value` is then None.
    """


@dataclass(slots=True)
class ImportIssue:
    """Problem that an importer found. An importer that omits data always reports an issue."""

    file: str
    line: int | None = None
    _: KW_ONLY
    what: str
    raw: str | None = None
    item: str | None = None
    severity: Literal["error", "warning", "notice"] = "warning"


@dataclass(slots=True)
class Item:
    """One test case with one model's answer."""

    id: str
    category: str
    group: str | None = None
    """Id of the conversation that contains this item and others; None if there is none."""
    question: str = ""
    messages: list[Message] = field(default_factory=list)
    golden: list[Call] = field(default_factory=list)
    predicted: list[Call] = field(default_factory=list)
    pairs: list[CallPair] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Docs of the available functions, as in the dataset. Many items can share one list object."""
    task_sections: list[TaskSection] = field(default_factory=list)
    """Parts of the task that the item screen shows with the instruction to the simulated user
    and the policy.
    """
    official: bool | None = None
    rule: bool | None = None
    judge: bool | None = None
    error_type: str | None = None
    rule_error_type: str | None = None
    rule_note: str | None = None
    """Why the item has no recomputed verdict: `multi-turn verdicts are imported, not
    recomputed`.
    """
    n_turns: int = 1
    n_steps: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = None
    seconds: list[float] | None = None
    """Latency of each step, in seconds; None if the files contain only the total latency."""
    setting: str | None = None
    """Setting of the item, if the benchmark reports metrics separately for each setting."""
    diff_function: str | None = None
    """Function of the first difference.

    Clusters group items by error type, this function and `diff_argument`.
    """
    diff_argument: str | None = None
    first_difference: str | None = None
    """First difference from the golden answer, in one line: `location "Hangzhou, CN" (golden
    "Hangzhou, China")`.
    """
    diff_golden: str | None = None
    """Golden value at the first difference, shortened: `"Hangzhou, China"`.

    None if there is no golden value.
    """
    diff_predicted: str | None = None
    decisive_step: str | None = None
    """Kind of the guessed decisive step, such as `wrong_write`.

    None if fcreview guessed no step.
    """
    ended: str | None = None
    """How the conversation ended, in the words of the format, such as `user_stop`, `max_steps` or
    an exception. None if the format does not record it.
    """
    incident: IncidentKind | None = None
    """Why the model's answer is missing or cut for a reason outside the question (see
    `fcreview.model.incident`).
    """
    incident_text: str | None = None
    """Text of the failure, as the file has it."""
    incident_where: str | None = None
    """Field of the record that says so: `result`, `info.error`, `stop_reason`."""
    incident_certainty: IncidentCertainty | None = None
    flags: list[ItemFlag] = field(default_factory=list)
    extra: Extra = field(default_factory=Extra)
    prediction_hash: str = ""
    golden_hash: str = ""
    file: str = ""
    """Result file with the raw record of the item.

    `line` is from 1, and `offset` and `length` are in bytes.
    """
    line: int = 0
    offset: int = 0
    length: int = 0
    issues: list[ImportIssue] = field(default_factory=list)
    shared_opening: SharedList[Message] | None = field(default=None, compare=False, repr=False)
    """Cached JSON that this item shares with equal items of other runs; None if no other item
    shares it.
    """

    @property
    def has_incident(self) -> bool:
        """Whether figures without incidents leave the item out."""
        return is_counted_incident(self.incident, self.incident_certainty)

    def set_incident(self, incident: Incident | None) -> None:
        """Record why the answer is missing or cut. None records nothing."""
        if incident is None:
            return
        self.incident = incident.kind
        self.incident_text = incident.text
        self.incident_where = incident.where
        self.incident_certainty = incident.certainty


@dataclass(frozen=True, slots=True)
class MissingItem:
    """An item of the dataset for which the run has no result."""

    id: str
    category: str


@dataclass(frozen=True, slots=True)
class PartSummary:
    """What the other parts of a run must know about a part that was read alone."""

    content: Any
    """An object of the importer. It must be picklable."""


@dataclass(frozen=True, slots=True)
class RunFact:
    """A choice that an importer made while it read a run, or a number that it found, with the
    reason.

    `runs --json` prints a fact as two fields, its name and `NAME_reason`. Names in use:

    * `decoder`: name of the decoder with which BFCL replies were read
    * `evaluator`: version of the benchmark's rules, such as `2025-10` for ACEBench
    * `dataset_version`: version of the dataset
    * `expected_items`: number of items of the dataset in the run's categories
    * `scores_of_other_replies`: number of failing score entries that quote another reply, if the
      official verdicts are unknown because of them
    * `verdict_from`: scorer and key whose value is the verdict of an Inspect item
    """

    name: str
    value: Any
    """JSON value."""
    reason: str = ""
    """Why, as a phrase: `agrees with 40 of 40 score entries; listed PROMPT agrees with 0`."""
    is_notable: bool = False
    """Whether the import summary prints the fact, because the choice was not the ordinary one."""


@dataclass(slots=True)
class Run:
    benchmark: str
    generation: str
    language: str
    model: str
    path: str
    dataset: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the model in the run's files: name -> JSON value. fcreview never reads a
    setting by its name.
    """
    official_metrics: dict[str, Any] = field(default_factory=dict)
    """Metrics in the score files: `{category: {"accuracy": 0.9, "correct_count": 9,
    "total_count": 10}}`.
    """
    tags: list[str] = field(default_factory=list)
    """Error tags in the benchmark's own terms.

    If this is empty, the tags of the importer are used.
    """
    title: str = ""
    """Display name of the benchmark.

    If this is empty, the name registered for the importer is used.
    """
    needs_dataset: bool = True
    """Whether the run needs a dataset.

    False if the results contain the questions and golden answers.
    """
    name: str = ""
    """Name that the user gave to the run; empty if fcreview names it."""
    name_parts: list[str] = field(default_factory=list)
    """What can distinguish the run from others of the same model, besides version, language and
    file name, most telling first: a provider, an Inspect task, a differing argument, the status of
    a log, a folder.
    """
    facts: dict[str, RunFact] = field(default_factory=dict)
    """Facts by name, from `read_items`."""
    not_run: list[MissingItem] = field(default_factory=list)

    @property
    def lacks_dataset(self) -> bool:
        """Whether questions and golden answers are missing, so that most verdicts cannot be
        recomputed.
        """
        return self.needs_dataset and self.dataset is None

    @property
    def missing_verdict_reason(self) -> str:
        """Why no item has an official verdict, such as `no verdicts: choose one of ...`. Empty if
        items may have one.
        """
        fact = self.facts.get("verdict_from")
        if fact is None or fact.value is not None:
            return ""
        return fact.reason

    @property
    def full_title(self) -> str:
        """Title, version and language of the benchmark: `BFCL V4`, `ACEBench v1 zh`.

        English is omitted.
        """
        title = self.title or self.benchmark
        words = [title]
        is_version_in_title = self.generation.lstrip("vV") in title
        if not is_version_in_title:
            words.append(self.generation)
        if self.language != "en":
            words.append(self.language)
        return " ".join(word for word in words if word)


ReadRecord = Item | ImportIssue | RunFact | MissingItem | PartSummary
"""What an importer's `read_items` yields. Only a part of a run has a `PartSummary`."""

TurnStep = tuple[int, int]
"""Turn and step of a message or call, each from 0."""


def assign_step_numbers(item: Item) -> dict[TurnStep, int]:
    """Return (turn, step) -> the number of the step on the screens: 1, 2, 3 in each turn.

    Openings (step -1), the messages before the first step of a turn, have no number.
    """
    steps = {(call.turn, call.step) for call in item.predicted}
    for message in item.messages:
        is_opening = message.step < 0
        if not is_opening:
            steps.add((message.turn, message.step))

    numbers: dict[TurnStep, int] = {}
    n_steps_in_turn: Counter[int] = Counter()
    for turn, step in sorted(steps):
        n_steps_in_turn[turn] += 1
        numbers[turn, step] = n_steps_in_turn[turn]
    return numbers
