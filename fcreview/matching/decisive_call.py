"""Guess the decisive step of items whose golden calls are paired with the model's calls: BFCL,
ACEBench and ComplexFuncBench. docs/decisive-step.md lists the kinds of steps.

fcreview looks for the kinds of steps in a fixed order, and uses the first kind that it finds. If
both `wrong_call` and `refused_call` occur, the earlier message is decisive. Within a kind, the
earliest message is decisive. If the benchmark compares only the effect of calls, fcreview considers
calls that only read data last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field

from fcreview.matching.conversation import (
    ChatMessage,
    build_chat_messages,
    is_refusal,
    is_same_call,
)
from fcreview.matching.decisive_step import (
    DecisiveStep,
    add_guessed_step,
    explain_missing_call,
    is_read_only,
)
from fcreview.matching.first_difference import (
    MAX_VALUE_IN_LINE,
    FirstDifference,
    find_first_difference,
)
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
    """Number of the message, from 1."""
    _: KW_ONLY
    call: Call
    pair: CallPair
    address: str
    refused: bool


@dataclass(slots=True)
class _PairedItem:
    """Calls and replies of a failed turn or of the whole conversation, with their call pairs."""

    item: Item
    turn: int | None
    """Failed turn, from 0; None for the whole conversation."""
    messages: Sequence[ChatMessage]
    calls: list[_PairedCall] = field(default_factory=list)
    missing: list[CallPair] = field(default_factory=list)
    """Pairs of golden calls that were not made."""
    replies: list[tuple[int, ChatMessage]] = field(default_factory=list)
    """(number of the message, message) of each reply of the model."""

    def __post_init__(self) -> None:
        """Collect the replies of the model, and each of its calls with the pair that it is in."""
        for pair in self.item.pairs:
            is_in_turn = self.turn is None or self.turn == pair.turn
            if pair.predicted is None and is_in_turn:
                self.missing.append(pair)

        for number, message in enumerate(self.messages, start=1):
            if self._is_reply(message):
                self.replies.append((number, message))
        self.calls.extend(self._iter_paired_calls())

    def _iter_paired_calls(self) -> Iterator[_PairedCall]:
        """Yield the calls of the replies. A call of which the item has no pair is left out."""
        addressed_pairs = self._find_addressed_pairs()
        result_by_call_id = {
            message.call_id: message.content
            for message in self.messages
            if message.role == "tool" and message.call_id
        }
        for number, reply in self.replies:
            for call, call_id in zip(reply.calls, reply.ids, strict=True):
                if (call.turn, call.index) not in addressed_pairs:
                    continue
                pair, address = addressed_pairs[call.turn, call.index]
                refused = is_refusal(result_by_call_id.get(call_id, ""))
                yield _PairedCall(number, call=call, pair=pair, address=address, refused=refused)

    def _find_addressed_pairs(self) -> dict[tuple[int, int], tuple[CallPair, str]]:
        """Return (turn, index) of a predicted call -> its call pair, and the pair's address, such
        as `turn:1/call:2`.
        """
        n_pairs_in_turn: dict[int, int] = {}
        addressed_pairs = {}
        for pair in self.item.pairs:
            position = n_pairs_in_turn.get(pair.turn, 0)
            n_pairs_in_turn[pair.turn] = position + 1
            if pair.predicted is not None:
                address = call_address(pair.turn, position)
                addressed_pairs[pair.turn, pair.predicted] = (pair, address)
        return addressed_pairs

    def _is_reply(self, message: ChatMessage) -> bool:
        """Whether the model wrote a message in the failed turn."""
        if message.role != "assistant" or message.is_given:
            return False
        turns = {source.turn for source in message.sources}
        turns |= {call.turn for call in message.calls}
        return self.turn is None or self.turn in turns

    def find_golden_call(self, pair: CallPair) -> Call | None:
        for call in self.item.golden:
            if call.turn == pair.turn and call.index == pair.golden:
                return call
        return None


def add_decisive_call(
    item: Item, failed_turn: int | None = None, *, only_effect_counts: bool
) -> None:
    """Guess the decisive step of an item that fails, and add it as a recomputed verdict.

    Args:
        item: The item. An item that does not fail stays as it is.
        failed_turn: The turn that fails, from 0, or None if it is unknown.
        only_effect_counts: Whether the benchmark compares only the effect of calls.
    """
    # The official verdict counts. Without it, the recomputed one does.
    verdict = item.rule if item.official is None else item.official
    if verdict is False:
        step = find_decisive_call(item, failed_turn, only_effect_counts=only_effect_counts)
        add_guessed_step(item, step)


def find_decisive_call(
    item: Item, failed_turn: int | None = None, *, only_effect_counts: bool
) -> DecisiveStep | None:
    """Return the step at which a conversation probably failed, or None if no fact suggests one.

    Args:
        item: The item.
        failed_turn: Only calls of this turn can be decisive. None for all turns.
        only_effect_counts: Whether the benchmark judges only which data the calls change.
    """
    if not item.pairs:
        return None

    # The first kind of fault that occurs decides.
    paired = _PairedItem(item, turn=failed_turn, messages=build_chat_messages(item))
    step = next(_find_wrong_calls(paired, only_effect_counts=only_effect_counts), None)
    if step is None and only_effect_counts:
        step = _find_unexpected_write(paired)
    if step is None:
        step = _find_missing_call(paired, only_effect_counts=only_effect_counts)
    # A wrong call that only reads data may have caused the later calls.
    if step is None and only_effect_counts:
        step = next(_find_wrong_calls(paired, only_effect_counts=False), None)
    return step


def find_call_loop(item: Item) -> DecisiveStep | None:
    """Return the step at which the model began to repeat a call until the end of the conversation,
    or None.

    Fewer than `MIN_REPEATS` equal calls are no loop.
    """
    numbered_calls = _list_numbered_calls(item)
    repeated_calls: list[tuple[int, Call]] = []
    for number, call in reversed(numbered_calls):
        _, last_call = numbered_calls[-1]
        if not is_same_call(call, last_call):
            break
        repeated_calls.append((number, call))
    if len(repeated_calls) < MIN_REPEATS:
        return None

    # The first of the equal calls may be right. The loop begins with the second one.
    repeated_calls.reverse()
    number, call = repeated_calls[1]
    return DecisiveStep(
        number,
        kind="repeated_call",
        reason=f"{call.name} is called {len(repeated_calls)} times with the same arguments.",
    )


def _list_numbered_calls(item: Item) -> list[tuple[int, Call]]:
    """Return the calls of the model, each with the number of its message from 1."""
    numbered_calls = []
    for number, message in enumerate(build_chat_messages(item), start=1):
        if not message.is_given:
            numbered_calls += [(number, call) for call in message.calls]
    return numbered_calls


def _changes_state(call: Call) -> bool:
    if call.name == "echo":
        return bool((call.arguments or {}).get("file_name"))
    return call.name not in READING_FUNCTIONS and not is_read_only(call.name)


def _find_wrong_calls(paired: _PairedItem, *, only_effect_counts: bool) -> Iterator[DecisiveStep]:
    """Yield a step for each wrong call, and for each refused call whose golden call is missing.

    A call is wrong if it differs from its golden call and no verdict accepts it. With
    `only_effect_counts`, it must also be a call that changes data.
    """
    accepted_addresses = {
        verdict.target for verdict in paired.item.verdicts if verdict.value is True
    }
    missing_names = {pair.name for pair in paired.missing}
    for made in paired.calls:
        name = made.call.name
        is_different = made.pair.state == "!" and made.address not in accepted_addresses
        has_effect = not only_effect_counts or _changes_state(made.call)
        is_refused_attempt = made.pair.golden is None and made.refused and name in missing_names
        if is_different and has_effect:
            reason = _explain_wrong_call(paired, made)
            yield DecisiveStep(made.message, kind="wrong_call", reason=reason)
        elif is_refused_attempt:
            reason = f"{name} is refused and not made correctly later."
            yield DecisiveStep(made.message, kind="refused_call", reason=reason)


def _find_unexpected_write(paired: _PairedItem) -> DecisiveStep | None:
    """Return the first call that changes data, succeeds, and is not in the golden answer.

    Such a call fits no unpaired golden call (see `fcreview.matching.align`). Golden calls of other
    functions can still be missing.
    """
    for made in paired.calls:
        is_unexpected = made.pair.golden is None and not made.refused
        if not is_unexpected or not _changes_state(made.call):
            continue
        earlier_calls = [other.call for other in paired.calls if other.message < made.message]
        cause = "changes data"
        if any(is_same_call(call, made.call) for call in earlier_calls):
            cause = "was already called with the same arguments"
        reason = f"{made.call.name} {cause}, and no unpaired golden call fits it."
        return DecisiveStep(made.message, kind="wrong_write", reason=reason)
    return None


def _explain_wrong_call(paired: _PairedItem, wrong: _PairedCall) -> str:
    """Explain in one sentence what is wrong with a call: it comes too early, calls another
    function, or has a different argument.
    """
    name = wrong.call.name
    skipped = _find_skipped_call(paired, wrong.pair)
    if skipped is not None:
        return f"{name} is called, but {skipped.name} is not called before it."
    if name != wrong.pair.name:
        return f"{name} is called instead of {wrong.pair.name}."

    difference = find_first_difference([wrong.pair], paired.item.golden, paired.item.predicted)
    if difference.argument is None:
        end = " and is refused." if wrong.refused else "."
        return f"{name} differs from the golden call{end}"
    return _explain_wrong_argument(name, difference)


def _find_skipped_call(paired: _PairedItem, pair: CallPair) -> CallPair | None:
    """Return the pair of a golden call that was left out before a call, or None.

    If the failed turn is known, only its calls matter, and their order does not.
    """
    if paired.turn is not None or pair.golden is None:
        return None
    for missing in paired.missing:
        if (missing.golden or 0) < pair.golden:
            return missing
    return None


def _explain_wrong_argument(name: str, difference: FirstDifference) -> str:
    """Explain in one sentence how the first different argument of a call differs from that of the
    golden call.
    """
    predicted = _shorten(difference.predicted or "")
    golden = _shorten(difference.golden or "")
    argument = difference.argument
    if not predicted:
        return f"{name} has no {argument}, but the golden call has {golden}."
    if not golden:
        return f"{name} has {argument} {predicted}, which the golden call does not have."
    # The values differ only after the end of the shortened texts.
    if predicted == golden:
        return f"{name} and the golden call have different values of {argument}."
    return f"{name} has {argument} {predicted}, but the golden call has {golden}."


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_VALUE_IN_LINE else f"{text[: MAX_VALUE_IN_LINE - 1]}…"


def _find_missing_call(paired: _PairedItem, *, only_effect_counts: bool) -> DecisiveStep | None:
    """Return the step at which a missing golden call should have been made, or None if no call is
    missing.

    This is the last reply, or the first one if it only writes the call as text. With
    `only_effect_counts`, only calls that change data count.
    """
    missing_calls = _list_missing_calls(paired, only_effect_counts=only_effect_counts)
    if not missing_calls or not paired.replies:
        return None

    name = missing_calls[0].name
    first_number, first_reply = paired.replies[0]
    is_written_as_text = not paired.calls and f"{name}(" in first_reply.content
    # Without a known turn, the first reply may be of an earlier turn than the missing call.
    is_turn_known = paired.turn is not None
    if is_turn_known and is_written_as_text:
        reason = f"The reply names {name}, but no call can be decoded from it."
        return DecisiveStep(first_number, kind="undecodable_call", reason=reason)

    last_number, _ = paired.replies[-1]
    place = "" if paired.turn is None else f" in turn {paired.turn + 1}"
    made_calls = [made.call for made in paired.calls]
    reason = explain_missing_call(name, made_calls, place)
    return DecisiveStep(last_number, kind="missing_call", reason=reason)


def _list_missing_calls(paired: _PairedItem, *, only_effect_counts: bool) -> list[Call]:
    """Return the golden calls that were not made. With `only_effect_counts`, only those that change
    data.
    """
    missing_calls = []
    for pair in paired.missing:
        call = paired.find_golden_call(pair)
        if call is None:
            continue
        if not only_effect_counts or _changes_state(call):
            missing_calls.append(call)
    return missing_calls
