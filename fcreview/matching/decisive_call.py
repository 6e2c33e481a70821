"""Guess the decisive step of items whose golden calls are paired with the model's calls: BFCL,
ACEBench and ComplexFuncBench. docs/decisive-step.md lists the kinds of steps.

fcreview looks for the kinds of steps in a fixed order, and uses the first kind that it finds. If
both `wrong_call` and `refused_call` occur, the earlier message is decisive. Within a kind, the
earliest message is decisive. If the benchmark compares only the effect of calls, fcreview considers
calls that only read data last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fcreview.matching.conversation import (
    ChatMessage,
    build_chat_messages,
    is_refusal,
    is_same_call,
)
from fcreview.matching.decisive_step import DecisiveStep, add_guessed_step, is_read_only
from fcreview.matching.first_difference import MAX_VALUE_IN_LINE, find_first_difference
from fcreview.model.address import call_address
from fcreview.model.item import Call, CallPair, Item

READING_FUNCTIONS = frozenset(
    {
        "absolute_value",
        "add",
        "cat",
        "cd",
        "diff",
        "divide",
        "du",
        "echo",
        "estimate_distance",
        "estimate_drive_feasibility_by_mileage",
        "gallon_to_liter",
        "grep",
        "imperial_si_conversion",
        "liter_to_gallon",
        "logarithm",
        "ls",
        "max_value",
        "mean",
        "min_value",
        "multiply",
        "percentage",
        "power",
        "pwd",
        "round_number",
        "si_unit_conversion",
        "sort",
        "square_root",
        "standard_deviation",
        "subtract",
        "sum_values",
        "tail",
        "wc",
    }
)
"""BFCL functions that do not change the compared state, although their names begin with no verb
of `READING_VERBS`.
"""
MIN_REPEATS = 3
"""Minimum number of equal calls that form a loop. Two equal calls may be a second attempt."""


@dataclass(slots=True)
class _PairedCall:
    message: int
    call: Call
    pair: CallPair
    address: str
    refused: bool


@dataclass(slots=True)
class _PairedItem:
    item: Item
    turn: int | None
    """Failed turn, from 0; None for the whole conversation."""
    messages: Sequence[ChatMessage]
    calls: list[_PairedCall] = field(default_factory=list)
    missing: list[CallPair] = field(default_factory=list)
    replies: list[tuple[int, ChatMessage]] = field(default_factory=list)

    def __post_init__(self) -> None:
        positions: dict[int, int] = {}
        by_call: dict[tuple[int, int], tuple[CallPair, str]] = {}
        for pair in self.item.pairs:
            at = positions[pair.turn] = positions.get(pair.turn, -1) + 1
            if pair.predicted is not None:
                by_call[pair.turn, pair.predicted] = pair, call_address(pair.turn, at)
            elif self.turn in (None, pair.turn):
                self.missing.append(pair)
        results = {
            each.call_id: each.content
            for each in self.messages
            if each.role == "tool" and each.call_id
        }
        for number, message in enumerate(self.messages, 1):
            turns = {each.turn for each in message.sources} | {each.turn for each in message.calls}
            if message.role != "assistant" or message.is_given or self.turn not in (None, *turns):
                continue
            self.replies.append((number, message))
            for call, call_id in zip(message.calls, message.ids, strict=True):
                found = by_call.get((call.turn, call.index))
                if found is not None:
                    self.calls.append(
                        _PairedCall(number, call, *found, is_refusal(results.get(call_id, "")))
                    )

    def find_golden_call(self, pair: CallPair) -> Call | None:
        at = pair.turn, pair.golden
        return next((each for each in self.item.golden if (each.turn, each.index) == at), None)


def add_decisive_call(
    item: Item, failed_turn: int | None = None, *, only_effect_counts: bool
) -> None:
    """Guess the decisive step of an item that fails, and add it as a recomputed verdict.
    `failed_turn` is from 0, or None if it is unknown. `only_effect_counts` states whether the
    benchmark compares only the effect of calls.
    """
    if item.official is False or (item.official is None and item.rule is False):
        add_guessed_step(
            item, find_decisive_call(item, failed_turn, only_effect_counts=only_effect_counts)
        )


def find_decisive_call(
    item: Item, failed_turn: int | None = None, *, only_effect_counts: bool
) -> DecisiveStep | None:
    """Return the decisive step of a failed conversation, or None if no fact suggests a step."""
    if not item.pairs:
        return None
    paired = _PairedItem(item, turn=failed_turn, messages=build_chat_messages(item))
    step = next(_find_wrong_calls(paired, only_effect_counts=only_effect_counts), None)
    if step is None and only_effect_counts:
        step = _find_unexpected_write(paired)
    step = step or _find_missing_call(paired, only_effect_counts=only_effect_counts)
    # A wrong call that only reads data may have caused the later calls.
    if step is None and only_effect_counts:
        step = next(_find_wrong_calls(paired, only_effect_counts=False), None)
    return step


def find_call_loop(item: Item) -> DecisiveStep | None:
    """Return the step at which `MIN_REPEATS` or more equal calls at the end of the conversation
    began, or None.
    """
    calls = [
        (n, call)
        for n, each in enumerate(build_chat_messages(item), 1)
        if not each.is_given
        for call in each.calls
    ]
    count = 1
    while count < len(calls) and is_same_call(calls[-count - 1][1], calls[-1][1]):
        count += 1
    if count < MIN_REPEATS:
        return None
    number, call = calls[1 - count]
    return DecisiveStep(
        number,
        kind="repeated_call",
        reason=f"{call.name} is called {count} times with the same arguments.",
    )


def _changes_state(call: Call) -> bool:
    if call.name == "echo":
        return bool((call.arguments or {}).get("file_name"))
    return call.name not in READING_FUNCTIONS and not is_read_only(call.name)


def _find_wrong_calls(paired: _PairedItem, *, only_effect_counts: bool) -> Iterator[DecisiveStep]:
    verdicts = {(v.target, v.value) for v in paired.item.verdicts if isinstance(v.value, bool)}
    missing = {pair.name for pair in paired.missing}
    for each in paired.calls:
        name, counts = each.call.name, not only_effect_counts or _changes_state(each.call)
        if each.pair.state == "!" and counts and (each.address, True) not in verdicts:
            yield DecisiveStep(
                each.message, kind="wrong_call", reason=_explain_wrong_call(paired, each)
            )
        elif each.pair.golden is None and each.refused and name in missing:
            yield DecisiveStep(
                each.message,
                kind="refused_call",
                reason=f"{name} is refused and not made correctly later.",
            )


def _find_unexpected_write(paired: _PairedItem) -> DecisiveStep | None:
    for each in paired.calls:
        if each.pair.golden is None and not each.refused and _changes_state(each.call):
            earlier = (other.call for other in paired.calls if other.message < each.message)
            is_again = any(is_same_call(call, each.call) for call in earlier)
            what = "was already called with the same arguments" if is_again else "changes data"
            reason = f"{each.call.name} {what}, and no unpaired golden call remains."
            return DecisiveStep(each.message, kind="wrong_write", reason=reason)
    return None


def _explain_wrong_call(paired: _PairedItem, wrong: _PairedCall) -> str:
    pair, name = wrong.pair, wrong.call.name
    skipped = [
        other
        for other in paired.missing
        if pair.golden is not None and (other.golden or 0) < pair.golden
    ]
    if paired.turn is None and skipped:
        return f"{name} is called, but {skipped[0].name} is not called before it."
    if name != pair.name:
        return f"{name} is called instead of {pair.name}."
    found = find_first_difference([pair], paired.item.golden, paired.item.predicted)
    if found.argument is None:
        return f"{name} differs from the golden call{' and is refused' * wrong.refused}."
    predicted, golden = _shorten(found.predicted or ""), _shorten(found.golden or "")
    if not predicted:
        return f"{name} has no {found.argument}, but the golden call has {golden}."
    if not golden:
        return f"{name} has {found.argument} {predicted}, which the golden call does not have."
    if predicted == golden:  # The values differ only after the end of the shortened texts.
        return f"{name} and the golden call have different values of {found.argument}."
    return f"{name} has {found.argument} {predicted}, but the golden call has {golden}."


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_VALUE_IN_LINE else f"{text[: MAX_VALUE_IN_LINE - 1]}…"


def _find_missing_call(paired: _PairedItem, *, only_effect_counts: bool) -> DecisiveStep | None:
    missing = [
        (pair, call)
        for pair in paired.missing
        if (call := paired.find_golden_call(pair)) is not None
    ]
    counted = [call for _, call in missing if not only_effect_counts or _changes_state(call)]
    if not counted or not paired.replies:
        return None
    name = counted[0].name
    first, reply = paired.replies[0]
    if paired.turn is not None and not paired.calls and f"{name}(" in reply.content:
        return DecisiveStep(
            first,
            kind="undecodable_call",
            reason=f"The reply names {name}, but no call can be decoded from it.",
        )
    where = "" if paired.turn is None else f" in turn {paired.turn + 1}"
    return DecisiveStep(
        paired.replies[-1][0], kind="missing_call", reason=f"{name} is never called{where}."
    )
