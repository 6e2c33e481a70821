"""Define the data model of an imported run: runs, items, messages, calls, call pairs and verdicts.

The classes are plain slotted dataclasses, because every imported item passes through them: building a pydantic model
takes four times as long, and orjson writes dataclasses directly. pydantic validates data that people write instead
(reviews, the generic format).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import groupby
from typing import Any, Literal, TypeVar


@dataclass(slots=True)
class RecordLocation:
    """Location of a raw record in a file. `line` counts from 1 (0 if unknown), `offset` and `length` are in bytes."""

    file: str
    line: int = 0
    offset: int = 0
    length: int = 0


ABSENT = "(not there)"
"""Value in a `StateDifference` for the side (golden or predicted) that does not have the attribute."""


@dataclass(slots=True)
class StateDifference:
    """Value of an environment attribute after the golden and after the predicted calls, as JSON."""

    golden: Any
    predicted: Any


@dataclass(slots=True)
class RecomputedVerdict:
    """Verdict on an item that was recomputed from the benchmark's rules."""

    valid: bool | None
    error_type: str | None = None


@dataclass(slots=True)
class Erratum:
    """Correction of an item's golden answer, from the errata that the run was imported with."""

    who: list[str]
    """Annotators who decided on the correction; may be empty."""
    date: str
    """Date of the errata file, ISO 8601."""
    reasons: list[str]
    old: Any = None
    """Golden answer in the dataset; JSON."""
    stale: str = ""
    """Why the correction is not applied (the item then has the dataset's golden answer); empty if it is applied."""


@dataclass(slots=True)
class RecordedReview:
    """A person's decision that the files of the run contain, such as an edited score. The item screen shows the
    decision with author and reason. The decision counts as a review only after `import-labels` has imported it."""

    source: str
    """Program that recorded the decision, such as `inspect`."""
    author: str
    verdict: Any
    """Verdict, as JSON; None if the person changed only the explanation."""
    target: str = "item"
    criterion: str = "correct"
    reason: str | None = None
    time: str | None = None
    """Time of the decision, ISO 8601; None if it is unknown."""
    events: list[str] = field(default_factory=list)
    """Ids of the journal events that led to this decision, if an fcreview export wrote it into the file."""
    fault: str | None = None
    tags: list[str] = field(default_factory=list)


def _to_dict(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


_JSON_KEYS = {"compared_with": "held_against", "metadata": "more"}
"""Field of `Extra` -> name in JSON, for fields whose names differ."""
_OMITTED_IF_EMPTY = ("metadata", "recorded_reviews")


@dataclass(slots=True)
class Extra:
    """Optional data of an item, stored as one JSON object. Importers set what their benchmark has."""

    failing_turn: int | None = None
    """Turn, from 0, at which the checker stopped. The item screen marks and unfolds this turn, and opens there."""
    state_differences: dict[str, StateDifference] | None = None
    """Attribute -> difference. Shown as a table at the end of the failing turn, or of the last turn if none failed."""
    golden_reply: str | None = None
    """Golden reply, or what it must contain, if the benchmark judges a reply. Also shown in blind review."""
    golden_labels: list[str] | None = None
    """Labels of the golden reply. Shown beside the labels that a judge gave to the predicted reply."""
    compared_with: dict[str, int] | None = None
    """Address of an unpaired predicted call -> `Call.index` of the golden call it was compared with."""
    uncounted_states: str | None = None
    """States of call pairs that are not errors under the benchmark's rules: `+` if additional calls are allowed, or
    `-!+` if only the effect of the calls counts. None unless the benchmark judges whole conversations."""
    user_calls: list[list[int]] | None = None
    """[turn, `Call.index`] of each predicted call that the simulated user made instead of the model."""
    accepted_answers: list[Any] | None = None
    """Accepted final answers, if the benchmark judges an answer instead of calls: JSON values, any one of which passes.
    Shown together with `final_answer`, also in blind review."""
    final_answer: str | None = None
    """Final answer of the model; None if there is none."""
    score_record: RecordLocation | None = None
    """Location of the item's entry in the score file. Shown with the raw records."""
    needs: list[list[str]] | None = None
    """Lists of addresses: the item passes if one part of each list passes. An empty list never passes. An annotator's
    verdict on a part rolls up by these lists, or by the common rule (all call pairs of all turns) if this is None."""
    without_errata: RecomputedVerdict | None = None
    """Recomputed verdict with the dataset's own golden answer, if errata changed the golden answer."""
    erratum: Erratum | None = None
    """Correction of the golden answer, applied or stale. Shown below the calls."""
    recorded_reviews: list[RecordedReview] = field(default_factory=list)
    """Decisions by people that the files of the run contain. Shown with the reviews; hidden in blind review."""
    redacted: bool = False
    """Whether third-party keys were removed from the item. Its raw records are then shown without keys too."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Name -> any JSON value that only this benchmark has. The item screen lists the values in this order and hides
    them in blind review. Only the benchmark's own metrics may read a value by name, as `ScoredItem.metadata`."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are set, such as `{"failing_turn": 1, "more": {"path": ["a.b"]}}`. The names are those
        of the fields, except for `_JSON_KEYS`. Most items have none."""
        found: dict[str, Any] = {}
        for name in type(self).__slots__:  # in field order; calling `dataclasses.fields` is slow
            value = getattr(self, name)
            if value is None or value is False or (name in _OMITTED_IF_EMPTY and not value):
                continue
            if name == "state_differences":
                value = {attribute: _to_dict(one) for attribute, one in value.items()}
            elif name == "recorded_reviews":
                value = [_to_dict(one) for one in value]
            elif is_dataclass(value):
                value = _to_dict(value)
            found[_JSON_KEYS.get(name, name)] = value
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Extra:
        """Build an `Extra` from the result of `as_json`. Raises TypeError for an unknown key."""
        given: dict[str, Any] = dict(value or {})
        for name, key in _JSON_KEYS.items():
            if key in given:
                given[name] = given.pop(key)
        if "state_differences" in given:
            differences = given["state_differences"].items()
            given["state_differences"] = {name: StateDifference(**one) for name, one in differences}
        if "recorded_reviews" in given:
            given["recorded_reviews"] = [RecordedReview(**one) for one in given["recorded_reviews"]]
        nested = {"score_record": RecordLocation, "without_errata": RecomputedVerdict, "erratum": Erratum}
        given |= {name: kind(**given[name]) for name, kind in nested.items() if name in given}
        return cls(**given)


Side = Literal["golden", "predicted"]
Role = Literal["system", "user", "assistant", "tool", "state", "log"]
"""Role of a message. The model did not see `state` (of the environment) and `log` (of the runner)."""
GOLDEN_CALL = "golden call"
"""`Message.name` of a golden call from earlier in the dialogue. The content of the message is the call as JSON."""
SIMULATED_USER_INSTRUCTION = "instruction to the simulated user"
"""`Message.name` of the instruction that a simulated user gets and the model does not see."""
SourceName = Literal["official", "rule", "judge", "human"]
"""Source of a verdict. The source `rule` means that fcreview recomputed the verdict."""
DiffState = Literal["=", "~", "!", "-", "+", " "]
"""Equal, equal after normalisation, different, missing, or not in the golden answer. Screens show an additional call
that the benchmark allows (`Extra.uncounted_states`) as a blank."""

T = TypeVar("T")


class SharedList(list[T]):
    """An immutable list that many items share as one object, so that its JSON is computed only once."""

    __slots__ = ("__weakref__", "json_text")

    def __init__(self, values: Iterable[T] = ()) -> None:
        super().__init__(values)
        self.json_text: bytes | None = None


@dataclass(slots=True)
class SharedContent:
    """Cached JSON of the fields of an item that do not depend on its run: all except `issues` and
    `RUN_SPECIFIC_FIELDS`. Equal items of all runs share one object."""

    json_text: bytes | None = None


RUN_SPECIFIC_FIELDS = ("tokens_in", "tokens_out", "latency", "seconds", "file", "line", "offset", "length")
"""Fields of an item that differ between runs even if the model's answer is the same."""


@dataclass(slots=True)
class Message:
    turn: int
    step: int
    """The model's step in the turn, from 0; -1 for the messages that open the turn (by the user or system)."""
    role: Role
    content: str
    name: str | None = None
    """Tool, environment class or speaker, if the role alone does not identify the author."""


@dataclass(slots=True)
class AcceptedValues:
    """Values that a golden answer accepts for one argument. A value is plain JSON, or a `GoldenObject` at any depth if
    the fields of an object have alternatives too."""

    any_of: list[Any]
    optional: bool = False


@dataclass(slots=True)
class GoldenObject:
    """Accepted values of each field, stored as `{"fields": {name: {"any_of": [...], "optional": false}}}`."""

    fields: dict[str, AcceptedValues]


@dataclass(slots=True)
class Call:
    side: Side
    name: str
    arguments: dict[str, Any] | None
    """Name -> JSON value if predicted, `AcceptedValues` if golden. None if not decoded."""
    turn: int = 0
    step: int = 0
    index: int = 0
    """Position, from 0, among all golden calls or all predicted calls of the turn, across its steps."""
    raw: str | None = None
    """Text that the call was decoded from, if it contains more than the name and arguments."""
    decode_error: str | None = None


@dataclass(slots=True)
class ArgumentDiff:
    """A difference in one argument or in one of its nested values."""

    path: str
    """Path of the value that differs: `city`, `filter.price`, `items[2].name`; empty if the call as a whole differs."""
    state: DiffState
    reason: str


@dataclass(slots=True)
class CallPair:
    """A golden call and its predicted call. A missing or an extra call has no partner."""

    turn: int
    golden: int | None
    """`Call.index` of the golden call in this turn; None for an extra call."""
    predicted: int | None
    """`Call.index` of the predicted call in this turn; None for a missing call."""
    name: str
    """Function of the golden call, or of the predicted call if there is no golden call."""
    state: DiffState
    """Most severe difference: `-` missing, `+` unexpected, `!` different, `~` equivalent, `=` equal."""
    diff: list[ArgumentDiff] = field(default_factory=list)
    """Differences between the two calls. All arguments that are not listed are equal."""


@dataclass(slots=True)
class Verdict:
    """The verdict of one source on a target and criterion. `value` is JSON: true or false, a number, a list of labels,
    or null if the source was asked and gave no answer."""

    source: SourceName
    value: Any
    target: str = "item"
    """Address of the target: `item`, `turn:2`, `turn:2/call:1`, `turn:2/call:1/arg:city` or `response`."""
    criterion: str = "correct"
    """Criterion of the verdict (see `fcreview.model.verdict`). Pass rates use the verdict on the target `item` and the
    criterion `correct`. The item screen also shows verdicts on other criteria."""
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = None
    """Judge model, tier of the checker, or score file that the verdict comes from."""


@dataclass(slots=True)
class ImportIssue:
    """A problem found during import. Data is never dropped without an issue."""

    file: str
    line: int | None
    what: str
    raw: str | None = None
    item: str | None = None
    """Id of the affected item; None if the issue affects no single item."""
    severity: Literal["error", "warning", "notice"] = "warning"


@dataclass(slots=True)
class Item:
    """One test case with one model's answer."""

    id: str
    category: str
    group: str | None = None
    """Id of the conversation that has this and other items; None if there is none."""
    question: str = ""
    messages: list[Message] = field(default_factory=list)
    golden: list[Call] = field(default_factory=list)
    predicted: list[Call] = field(default_factory=list)
    pairs: list[CallPair] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Docs of the available functions, as in the dataset. Many items may share the same list object."""
    official: bool | None = None
    rule: bool | None = None
    judge: bool | None = None
    error_type: str | None = None
    rule_error_type: str | None = None
    rule_note: str | None = None
    """Why there is no recomputed verdict, such as 'multi-turn verdicts are imported, not recomputed'."""
    n_turns: int = 1
    n_steps: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = None
    seconds: list[float] | None = None
    """Latency of each step in seconds; None if the source has only the sum."""
    setting: str | None = None
    """Setting that the item was run under, if the benchmark reports metrics by setting."""
    diff_function: str | None = None
    """Function of the first difference. Clusters are formed by (error_type, diff_function, diff_argument)."""
    diff_argument: str | None = None
    first_difference: str | None = None
    """First difference from the golden answer, in one line: `location "Hangzhou, CN" (golden "Hangzhou, China")`."""
    diff_golden: str | None = None
    """Golden value at the first difference, shortened: `"Hangzhou, China"`. None without a golden value."""
    diff_predicted: str | None = None
    """Predicted value at the first difference, shortened: `"Hangzhou, CN"`. None without a predicted value."""
    decisive_step: str | None = None
    """Kind of the guessed decisive step, such as `wrong_write`. None if there is no guess."""
    extra: Extra = field(default_factory=Extra)
    prediction_hash: str = ""
    golden_hash: str = ""
    file: str = ""
    """Result file with the raw record. `line` counts from 1, `offset` and `length` are in bytes."""
    line: int = 0
    offset: int = 0
    length: int = 0
    issues: list[ImportIssue] = field(default_factory=list)
    shared_opening: SharedList[Message] | None = field(default=None, compare=False, repr=False)
    """The first messages of `messages`, if the items of other runs share them; None otherwise."""
    shared_content: SharedContent | None = field(default=None, compare=False, repr=False)
    """Cached JSON that this item shares with equal items of other runs; None if no other run has an equal item."""


@dataclass(slots=True)
class Run:
    benchmark: str
    generation: str
    """Version of the benchmark, such as `V4`."""
    language: str
    model: str
    path: str
    """Folder or file that was opened as this run."""
    dataset: str | None = None
    """Folder or file with the questions and golden answers; None if none was found."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings with which the model was run, if the files state them: name -> any JSON value. fcreview lists all
    settings and never reads a setting by name."""
    official_metrics: dict[str, Any] = field(default_factory=dict)
    """Metrics in the score files: `{category: {"accuracy": 0.9, "correct_count": 9, "total_count": 10}}`."""
    tags: list[str] = field(default_factory=list)
    """Error tags in the benchmark's own terms. If empty, the tags of the importer apply."""
    title: str = ""
    """Display name of the benchmark. If empty, the name registered for the importer applies."""
    needs_dataset: bool = True
    """Whether the run needs a dataset. False if the results contain the questions and golden answers."""

    @property
    def lacks_dataset(self) -> bool:
        """Whether questions and golden answers are missing. Only some items then have a recomputed verdict."""
        return self.needs_dataset and self.dataset is None

    @property
    def full_title(self) -> str:
        """Title, version and language: `BFCL V4`, `ACEBench v1 zh`. The language is omitted if it is English, and the
        version if the title contains its number: `tau2-bench`."""
        title = self.title or self.benchmark
        version = "" if self.generation.lstrip("vV") in title else self.generation
        language = self.language if self.language != "en" else ""
        return " ".join(word for word in (title, version, language) if word)


def number_steps(item: Item) -> dict[tuple[int, int], int]:
    """Number the steps of each turn that contain a message or a call: 1, 2, 3. Benchmarks leave gaps between their own
    step numbers. The messages that open a turn (step -1) are not a step."""
    used = {(message.turn, message.step) for message in item.messages if message.step >= 0}
    used |= {(call.turn, call.step) for call in item.predicted}
    numbers: dict[tuple[int, int], int] = {}
    for _, steps in groupby(sorted(used), key=lambda step: step[0]):
        numbers |= {step: number for number, step in enumerate(steps, 1)}
    return numbers
