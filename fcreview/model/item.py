"""What an item may have besides messages, calls and verdicts.

Whatever a screen or the store looks for by name is a field here. Everything else a benchmark has goes into
`Extra.more`, which is listed and never looked into. The store keeps it as one JSON object, see `Extra.as_json`.

The vocabulary: what a run holds, in the words that screens, columns and docs use.

These are plain slotted dataclasses rather than pydantic models, because every item of an import passes through
them (a pydantic model costs four times as much to build); orjson writes them as they are. Where data comes from
people rather than from an importer (reviews, the generic format) pydantic validates it.

Steps as people count them: 1, 2, 3 in each turn, without the numbers at which nothing happened. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import groupby
from typing import Any, Literal, TypeVar


@dataclass(slots=True)
class RecordPlace:
    """Where a record stands in a file: it is read there when somebody asks for it."""

    file: str
    line: int = 0
    """From 1; 0 if it is not known."""
    offset: int = 0
    """Bytes, as `length`."""
    length: int = 0


ABSENT = "(not there)"
"""Stands for the side of a `StateDifference` that has no such attribute."""


@dataclass(slots=True)
class StateDifference:
    """An attribute of the environment that ended up otherwise than after the golden calls. Both sides are JSON."""

    golden: Any
    predicted: Any


@dataclass(slots=True)
class Automatic:
    """A verdict of the benchmark's rules on an item."""

    valid: bool | None
    error_type: str | None = None


@dataclass(slots=True)
class Erratum:
    """A correction of the item's golden answer, by errata that the run was read with."""

    who: list[str]
    """Settled it; may be empty."""
    date: str
    """Of the file of errata, ISO 8601."""
    reasons: list[str]
    old: Any = None
    """The golden answer as the dataset has it; JSON."""
    stale: str = ""
    """Why it is not applied; then the golden answer that is shown is the dataset's."""


def _as_object(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}


@dataclass(slots=True)
class Extra:
    """All fields may stay as they are: a benchmark sets those it has something for."""

    failing_turn: int | None = None
    """The turn, from 0, at which the checker stopped: marked, unfolded and opened first on the item screen."""
    state_differences: dict[str, StateDifference] | None = None
    """By attribute: a table at the end of the failing turn, of the last one if none is named, golden beside
    predicted."""
    golden_reply: str | None = None
    """Where a reply is judged and no calls: the golden one, or what a reply must say. Shown beside the predicted one,
    to blind annotators too."""
    golden_labels: list[str] | None = None
    """The labels of the golden reply: beside those that a judge gave the predicted one."""
    held_against: dict[str, int] | None = None
    """Which golden call (`Call.index`) a predicted one without a partner was compared with by the benchmark, by the
    predicted one's address: both are shown."""
    accepted_answers: list[Any] | None = None
    """Where a final answer is judged and no calls: JSON values, usually texts, any one of which is right. Shown with
    `final_answer` below them, to blind annotators too."""
    final_answer: str | None = None
    """The answer that was given; None if there was none."""
    score_record: RecordPlace | None = None
    """The score file's own entry of this item: shown with the raw records."""
    needs: list[list[str]] | None = None
    """Which parts make the item right, as addresses: of every list one must be right; an empty list is never met.
    With it a person's verdict on a part rolls up by the benchmark's own rule, without it by the common one (all call
    pairs of all turns)."""
    without_errata: Automatic | None = None
    """The rule verdict by the dataset's own golden answer, where errata changed it."""
    erratum: Erratum | None = None
    """Shown below the calls: where the golden answer that is shown comes from, or that a correction does not fit."""
    redacted: bool = False
    """The item was read without third-party keys (`fcreview.model.redact`): its raw records are shown without them."""
    more: dict[str, Any] = field(default_factory=dict)
    """What only this benchmark has: name -> any JSON, a line each under *more*, in this order, hidden from blind
    annotators. The benchmark's own `figures` may read it (as `Scored.more`); nobody else looks into it by name."""

    def as_json(self) -> dict[str, Any]:
        """The fields that are set, under their own names: `{}` for most items.

        `{"failing_turn": 1, "state_differences": {"root": {"golden": "b", "predicted": "c"}},
        "golden_reply": "No tool fits.", "golden_labels": ["inform"], "held_against": {"turn:1/call:9": 5},
        "accepted_answers": ["7"], "final_answer": "8", "score_record": {"file": "a.json", "line": 2, "offset": 9,
        "length": 4}, "needs": [["turn:1/call:1"]],
        "without_errata": {"valid": false, "error_type": "value_error:string"},
        "erratum": {"who": ["alice"], "date": "2026-01-01", "reasons": [], "old": [], "stale": ""}, "redacted": true,
        "more": {"path": ["a.b"]}}`
        """
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "state_differences" and value is not None:
                value = {name: _as_object(one) for name, one in value.items()}
            elif is_dataclass(value):
                value = _as_object(value)
            if value is not None and value is not False and (each.name != "more" or value):
                found[each.name] = value
        return found

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Extra:
        """The opposite of `as_json`. TypeError for names that are no fields."""
        given: dict[str, Any] = dict(value or {})
        if "state_differences" in given:
            differences = given["state_differences"].items()
            given["state_differences"] = {name: StateDifference(**one) for name, one in differences}
        if "score_record" in given:
            given["score_record"] = RecordPlace(**given["score_record"])
        if "without_errata" in given:
            given["without_errata"] = Automatic(**given["without_errata"])
        if "erratum" in given:
            given["erratum"] = Erratum(**given["erratum"])
        return cls(**given)


Side = Literal["golden", "predicted"]
Role = Literal["system", "user", "assistant", "tool", "state", "log"]
"""`state` is a snapshot of the environment, `log` a remark of the benchmark's runner: the model saw neither."""
GOLDEN_CALL = "golden call"
"""`Message.name` of an earlier golden call that the dialogue goes on from: its content is the call as JSON."""
Source = Literal["official", "rule", "judge", "human"]
State = Literal["=", "~", "!", "-", "+"]
"""Equal, equal after the benchmark's normalisation, differs, missing in prediction, not in golden."""

T = TypeVar("T")


class Repeated(list[T]):
    """A list that many items have in common, one object for all of them and never changed: whoever writes items out
    keeps its JSON with it."""

    __slots__ = ("__weakref__", "text")

    def __init__(self, values: Iterable[T] = ()) -> None:
        super().__init__(values)
        self.text: bytes | None = None


@dataclass(slots=True)
class Common:
    """What items of several runs have in common: everything but `OWN`, `issues` and the run. Whoever writes items out
    keeps its JSON here."""

    text: bytes | None = None


OWN = ("tokens_in", "tokens_out", "latency", "seconds", "file", "line", "offset", "length")
"""Fields of an item that differ between runs in which a model says the same."""


@dataclass(slots=True)
class Message:
    turn: int
    step: int
    """-1 for what opens a turn (the user's or system's messages), 0, 1, ... for the model's steps in it."""
    role: Role
    content: str
    name: str | None = None
    """Of a tool, an environment class or a speaker, where the role alone does not tell."""


@dataclass(slots=True)
class Accept:
    """What one golden argument accepts: any one of the values; left out too, if optional.

    A value is plain JSON, or `Fields` where an object's own fields have alternatives again (also inside lists).
    """

    any_of: list[Any]
    optional: bool = False


@dataclass(slots=True)
class Fields:
    """A golden object whose fields each accept alternatives.

    Stored as `{"fields": {name: {"any_of": [...], "optional": false}}}`.
    """

    fields: dict[str, Accept]


@dataclass(slots=True)
class Call:
    """One call. `arguments`: a JSON object if predicted, `{name: Accept}` if golden, None if undecodable."""

    side: Side
    name: str
    arguments: dict[str, Any] | None
    turn: int = 0
    step: int = 0
    index: int = 0
    """Position within its side of the turn, from 0 (over all steps)."""
    raw: str | None = None
    """The text it was decoded from, where that says more than name and arguments."""
    decode_error: str | None = None


@dataclass(slots=True)
class ArgumentDiff:
    """One argument (or a place inside one) that is not simply equal."""

    path: str
    """`city`, `filter.price`, `items[2].name`."""
    state: State
    reason: str


@dataclass(slots=True)
class Pair:
    """Which predicted call answers which golden call. Either side may be absent: a missing or an extra call."""

    turn: int
    golden: int | None
    """`Call.index` of the golden call in this turn."""
    predicted: int | None
    name: str
    """The golden call's function, else the predicted call's."""
    state: State
    """Worst state of the pair: `-` no prediction, `+` no golden, `!` something differs, `~` or `=`."""
    diff: list[ArgumentDiff] = field(default_factory=list)
    """Only what is not `=`; every other argument of the two calls is equal."""


@dataclass(slots=True)
class Verdict:
    """What a source says of a target on a criterion.

    `value` is JSON: true/false, a number, a list of labels, or null (asked, no answer).
    """

    source: Source
    value: Any
    target: str = "item"
    """`item`, `turn:2`, `turn:2/call:1`, `turn:2/call:1/arg:city` or `response`; turns and calls count from 1."""
    criterion: str = "correct"
    """`correct` of `item` is the verdict that counts; any other is shown beside it, see `fcreview.model.verdict`."""
    error_type: str | None = None
    rationale: str | None = None
    by: str | None = None
    """The judge model, the checker's tier or the score file that said so."""


@dataclass(slots=True)
class ImportIssue:
    """Something that could not be read or joined as it should; nothing is dropped without one."""

    file: str
    line: int | None
    what: str
    raw: str | None = None
    item: str | None = None
    severity: Literal["error", "warning", "notice"] = "warning"


@dataclass(slots=True)
class Item:
    """One test case of a run, ready to be stored."""

    id: str
    category: str
    group: str | None = None
    """Conversation that several items belong to."""
    question: str = ""
    """One line for lists."""
    messages: list[Message] = field(default_factory=list)
    golden: list[Call] = field(default_factory=list)
    predicted: list[Call] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    """Function documents that were offered, as in the dataset. The same list object may be shared by many items."""
    official: bool | None = None
    rule: bool | None = None
    judge: bool | None = None
    error_type: str | None = None
    rule_error_type: str | None = None
    rule_note: str | None = None
    """Why `rule` is empty, for the screen: 'multi-turn verdicts are imported, not recomputed'."""
    n_turns: int = 1
    n_steps: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency: float | None = None
    """Seconds, summed over steps."""
    seconds: list[float] | None = None
    """Of each step, where several are told."""
    setting: str | None = None
    """Which of several settings the case was run under, where the benchmark has figures of each."""
    diff_function: str | None = None
    diff_argument: str | None = None
    """Where the first failure lies: clusters are made of (error_type, diff_function, diff_argument)."""
    first_difference: str | None = None
    """One line: `location "Hangzhou, CN" (golden "Hangzhou, China")`."""
    diff_golden: str | None = None
    diff_predicted: str | None = None
    """The values in that line, `"Hangzhou, China"` and `"Hangzhou, CN"`, cut to a length; None on the side that has
    none, both where no argument differs."""
    extra: Extra = field(default_factory=Extra)
    """What there is besides: the turn that failed, a final answer, the benchmark's own fields."""
    prediction_hash: str = ""
    golden_hash: str = ""
    file: str = ""
    """The result file; `line` counts from 1, `offset` and `length` are bytes. Raw records are read there on demand."""
    line: int = 0
    offset: int = 0
    length: int = 0
    issues: list[ImportIssue] = field(default_factory=list)
    common: Common | None = field(default=None, compare=False, repr=False)
    """Shared by the items that are the same in everything it speaks of."""


@dataclass(slots=True)
class Run:
    """The outputs of one model on one dataset."""

    benchmark: str
    generation: str
    language: str
    model: str
    path: str
    """The folder (or file) that was opened as this run."""
    dataset: str | None = None
    """Where questions and golden answers came from; None if none was found."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Name -> any JSON: how the model was run, as far as the files say. Listed, never looked into by name."""
    official_metrics: dict[str, Any] = field(default_factory=dict)
    """As the score files state them: `{category: {"accuracy": 0.9, "correct_count": 9, "total_count": 10}}`."""
    tags: list[str] = field(default_factory=list)
    """What reviewers are offered to tag an item with: the benchmark's own error taxonomy. An importer may leave them
    to its registry line."""
    title: str = ""
    """The benchmark's name as people write it; an importer may leave that to its registry line."""
    needs_dataset: bool = True
    """False where questions and golden answers stand in the results."""

    @property
    def lacks_dataset(self) -> bool:
        """Golden answers and questions are missing: what is recomputed is then a part that says nothing of the rest."""
        return self.needs_dataset and self.dataset is None

    @property
    def kind(self) -> str:
        """`BFCL V4`, `ACEBench v1 zh`: English goes without saying."""
        language = self.language if self.language != "en" else ""
        return " ".join(word for word in (self.title or self.benchmark, self.generation, language) if word)


Steps = Mapping[tuple[int, int], int]
"""A step's number by (turn, step), both of which count from 0, as `Message` and `Call` have them."""


def step_numbers(item: Item) -> dict[tuple[int, int], int]:
    """Of every step in which something was said or a call was made. How benchmarks store a dialogue leaves gaps between
    their own numbers; what opens a turn is none of its steps."""
    happened = {(message.turn, message.step) for message in item.messages if message.step >= 0}
    happened |= {(call.turn, call.step) for call in item.predicted}
    numbers: dict[tuple[int, int], int] = {}
    for _, places in groupby(sorted(happened), key=lambda place: place[0]):
        numbers |= {place: number for number, place in enumerate(places, 1)}
    return numbers
