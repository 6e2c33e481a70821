"""One BFCL item from its result record, its case and its score entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from operator import attrgetter
from typing import Any

from fcreview.importers.bfcl import filenames, scores, trajectory
from fcreview.importers.bfcl.checker.evaluate import (
    NOT_RECOMPUTED_NOTES,
    EvaluatedReply,
    Evaluation,
    EvaluationSettings,
    decode_step,
    evaluate_reply,
)
from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME
from fcreview.importers.bfcl.golden_corrections import CorrectedItem
from fcreview.importers.common.jsonl import Record
from fcreview.matching.align import align_turns
from fcreview.matching.first_difference import set_difference_location, find_first_difference
from fcreview.model.item import RecomputedVerdict, SharedContent, Extra, ImportIssue, Item, Message, CallPair, RecordLocation, Verdict
from fcreview.model.json_value import answer_hash

DECODER_FIELD = "decoder"
"""Name in `Extra.more` of what read the item's reply."""
CHECKER, CHECKER_WITH_ERRATA = "checker", "checker with errata"
"""Who the rule verdict is by."""
WHOLE_ITEM_ERRORS = frozenset({"multi_turn:inference_error", "multi_turn:force_terminated"})
"""Failures of a multi-turn item as a whole."""
KNOWN_FIELDS = frozenset(
    {"id", "idx", "result", "input_token_count", "output_token_count", "latency", "inference_log", "reasoning_content",
     "traceback"}
)  # fmt: skip
SHAREABLE_FIELDS = KNOWN_FIELDS - {"traceback", "inference_log"}
_item_values = attrgetter(*(one.name for one in fields(Item)))


@dataclass(slots=True)
class CategoryContext:
    """What the items of one category of a run have in common."""

    version: str
    category: str
    model: str
    decoder: Decoder = field(default_factory=lambda: DECODERS_BY_NAME["AUTO"])
    """What reads the model's replies."""
    score_file_name: str = ""
    """Name of the score file, and its path."""
    score_file_path: str = ""
    unknown_fields: dict[str, int] = field(default_factory=dict)
    """Fields of result records that this importer does not know, with the line they were first seen in."""
    kind: str = "single"
    rules_version: str = "V4"
    """The generation whose rules are applied; that of V4 for newer ones."""

    def __post_init__(self) -> None:
        self.rules_version = filenames.rules_version(self.version)
        if self.category.startswith("multi_turn"):
            self.kind = "multi_turn"
        elif self.category.startswith(("memory", "web_search")):
            self.kind = "agentic"


@dataclass(slots=True)
class ItemInputs:
    """What there is of one item besides its result record."""

    id: str
    corrected: CorrectedItem
    """The case, with errata where the run is read with some."""
    opening_messages: list[Message]
    """The case's messages, shared by all runs."""
    official: bool | None
    score_entry: scores.ScoreEntry | None
    """The score file's, where the item failed."""
    file: str
    position: Record
    """Line, offset and length in the file."""
    further_entries: Sequence[scores.ScoreEntry] = ()
    """Further score entries of the item: what failed after the first cause."""


def build_item(context: CategoryContext, known: ItemInputs, record: dict[str, Any]) -> Item:
    """The item with its messages, calls, pairs and verdicts."""
    if context.kind != "single":
        item = _start_item(context, known, record)
        item.prediction_hash = answer_hash(record.get("result"))
        _fill_multi_turn(item, context, record, known)
        return item
    reading = _evaluation_settings(context, known)
    reply = evaluate_reply(known.corrected.item, record, known.opening_messages, reading)
    alike = known.id, context.score_file_name, known.official
    found = reply.items.get(alike)
    repeats = reply.is_cached and known.official is not False and _is_shareable(known, record)
    if found is not None and repeats:
        if found.shared_content is None:  # most replies are never seen again: nothing is kept for the first time
            found.shared_content = SharedContent()
        item = Item(*_item_values(found))
        item.issues = []
        _set_run_fields(item, known, record)
        return item
    item = _start_item(context, known, record)
    _fill_single_turn(item, record, known, reading, reply)
    if repeats:
        reply.items[alike] = item
    return item


def _is_shareable(known: ItemInputs, record: dict[str, Any]) -> bool:
    """Whether an item has nothing of its own but numbers."""
    mended = known.corrected.original is not None or known.corrected.erratum is not None
    return not mended and record.keys() <= SHAREABLE_FIELDS and type(record.get("latency")) is not list


def _start_item(context: CategoryContext, known: ItemInputs, record: dict[str, Any]) -> Item:
    case, official = known.corrected.item, known.official
    item = Item(
        known.id,
        context.category,
        question=case.question,
        messages=known.opening_messages,
        golden=case.golden_calls,
        functions=case.functions,
        official=official,
        extra=Extra(erratum=known.corrected.erratum, metadata=dict(case.extra)),
        golden_hash=case.golden_hash,
    )
    _set_run_fields(item, known, record)
    item.extra.metadata[DECODER_FIELD] = context.decoder.name
    latency = record.get("latency")
    if isinstance(latency, list) and (steps := _step_latencies(latency)):
        item.seconds = steps
    if not record.keys() <= KNOWN_FIELDS:
        for key in record.keys() - KNOWN_FIELDS:
            item.extra.metadata[key] = record[key]
            context.unknown_fields.setdefault(key, item.line)
    if context.category == "rest":
        item.extra.redacted = True
    if "traceback" in record:
        item.extra.metadata["traceback"] = record["traceback"]
    if official is not None:
        item.verdicts.append(
            Verdict("official", True, by=context.score_file_name) if official else _failed_verdict(item, known, context)
        )
    return item


def _set_run_fields(item: Item, known: ItemInputs, record: dict[str, Any]) -> None:
    """What an item has of its own, whatever the model said: the fields `OWN`."""
    tokens_in, tokens_out = record.get("input_token_count"), record.get("output_token_count")
    latency, stands = record.get("latency"), known.position
    item.tokens_in = tokens_in if type(tokens_in) is int else _sum_integers(tokens_in)
    item.tokens_out = tokens_out if type(tokens_out) is int else _sum_integers(tokens_out)
    item.latency = latency if type(latency) is float else _sum_numbers(latency)
    item.file, item.line, item.offset, item.length = known.file, stands.line, stands.offset, stands.length


def _failed_verdict(item: Item, known: ItemInputs, context: CategoryContext) -> Verdict:
    """The official verdict of a failing entry, in the evaluator's words; of several, the first is the cause."""
    entry = known.score_entry
    if entry is None:
        return Verdict("official", False, by=context.score_file_name)
    item.error_type = scores.error_type(entry.record)
    if entry.length:
        item.extra.score_record = RecordLocation(context.score_file_path, entry.line, entry.offset, entry.length)
    told = [scores.rationale(entry.record)]
    told += [
        f"then {scores.error_type(one.record)}: {scores.rationale(one.record) or ''}" for one in known.further_entries
    ]
    rationale = "\n".join(filter(None, told)) or None
    return Verdict("official", False, "item", "correct", item.error_type, rationale, context.score_file_name)


def _evaluation_settings(context: CategoryContext, known: ItemInputs) -> EvaluationSettings:
    category, config = context.category, None
    if category == "format_sensitivity" and (parts := filenames.split_format_sensitivity_id(known.id)):
        config, category = parts[1], filenames.split_item_id(parts[2])[0]
    return EvaluationSettings(context.rules_version, category, context.decoder, config)


def _fill_single_turn(
    item: Item, record: dict[str, Any], known: ItemInputs, reading: EvaluationSettings, reply: EvaluatedReply
) -> None:
    found, by = reply.evaluation, CHECKER
    if reading.config is not None and (parts := filenames.split_format_sensitivity_id(item.id)):
        item.setting = parts[1]
        item.extra.metadata["original"] = parts[2]
    if known.corrected.original is not None:
        own = evaluate_reply(known.corrected.original, record, known.opening_messages, reading).evaluation
        if (own.valid, own.error_type) != (found.valid, found.error_type):
            item.extra.without_errata, by = RecomputedVerdict(own.valid, own.error_type), CHECKER_WITH_ERRATA
    item.messages, item.predicted, item.pairs = reply.messages, reply.predicted, reply.pairs
    item.prediction_hash = reply.prediction_hash
    item.n_steps = 1
    item.rule, item.rule_note = found.valid, found.note
    if found.valid is not None:
        item.rule_error_type = found.error_type
        rationale = "\n".join(found.messages) or None
        item.verdicts.append(Verdict("rule", found.valid, "item", "correct", found.error_type, rationale, by))
    if item.official is False or found.valid is False or (item.official is None and found.valid is None):
        _set_first_difference(item, item.pairs, found)


def _set_first_difference(item: Item, pairs: list[CallPair], found: Evaluation | None) -> None:
    """Where the first failure lies: as the checker says, else by the pairs.

    An output that is no calls at all fails as a whole, at no function: all of these are one cluster.
    """
    if found is not None and found.decode_error:
        item.first_difference = found.decode_error[:300]
        return
    first = find_first_difference(pairs, item.golden, item.predicted, COMPARISON_RULES)
    first.apply_to(item)
    argument, text = first.argument, first.text
    if found is not None and found.function is not None:
        if (found.function, found.argument) != (first.function, argument):
            same_place = (
                argument is not None and found.argument is not None and argument.startswith(str(found.argument))
            )
            text = text if same_place else next(iter(found.messages), text)
        set_difference_location(item, found.function, found.argument)
    elif found is not None and text is None:
        text = next(iter(found.messages), None)
    if text is None and item.verdicts and item.verdicts[0].rationale:
        text = item.verdicts[0].rationale.split("\n", 1)[0]
    item.first_difference = text[:300] if text else None


def _fill_multi_turn(item: Item, context: CategoryContext, record: dict[str, Any], known: ItemInputs) -> None:
    """A multi-turn or agentic item: its verdicts are imported only."""
    case, entry = known.corrected.item, known.score_entry
    decode = partial(decode_step, decoder=context.decoder, rules_version=context.rules_version)
    found = trajectory.build_trajectory(record, known.opening_messages, decode, case.functions)
    item.messages, item.predicted = found.messages, found.calls
    item.n_turns, item.n_steps = found.n_turns, found.n_steps
    item.rule_note = NOT_RECOMPUTED_NOTES[context.kind]
    pairs: list[CallPair] = []
    if context.kind == "agentic":
        item.extra.accepted_answers = case.ground_truth if isinstance(case.ground_truth, list) else None
        item.extra.final_answer = found.final_answer
        if item.official is not None:
            told = item.verdicts[0]
            item.verdicts.append(
                Verdict(
                    "official",
                    item.official,
                    "response",
                    "correct",
                    told.error_type,
                    told.rationale,
                    context.score_file_name,
                )
            )
    else:
        pairs = item.pairs = align_turns(case.golden_calls, found.calls, COMPARISON_RULES)
    if entry is not None and item.official is False:
        scores.add_turn_details(entry.record, item.extra)
        failing = item.extra.failing_turn
        if failing is not None:
            told = item.verdicts[0]
            item.verdicts.append(
                Verdict(
                    "official",
                    False,
                    turn_address(failing),
                    "correct",
                    told.error_type,
                    told.rationale,
                    context.score_file_name,
                )
            )
            pairs = [pair for pair in pairs if pair.turn == failing]
        elif item.error_type in WHOLE_ITEM_ERRORS:
            pairs = []  # the run broke off: no call is to blame
        _set_first_difference(item, pairs, None)
    elif item.official is None:
        _set_first_difference(item, pairs, None)


def make_degraded_item(context: CategoryContext, known: ItemInputs, why: str) -> Item:
    """What is left of an item whose record could not be made sense of."""
    case, stands = known.corrected.item, known.position
    item = Item(known.id, context.category, question=case.question, official=known.official)
    item.functions, item.golden, item.golden_hash = case.functions, case.golden_calls, case.golden_hash
    item.file, item.line, item.offset, item.length = known.file, stands.line, stands.offset, stands.length
    item.rule_note = why
    if known.official is not None:
        item.verdicts.append(Verdict("official", known.official, by=context.score_file_name))
    item.issues.append(ImportIssue(known.file, stands.line, why, item=known.id, severity="error"))
    return item


def _sum_numbers(value: Any) -> float | None:
    """Sum of numbers in lists of lists; None if there is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, list):
        parts = [part for part in map(_sum_numbers, value) if part is not None]
        return sum(parts) if parts else None
    return None


def _step_latencies(value: list[Any]) -> list[float] | None:
    """Numbers of lists of numbers, one list a turn; None for any other form, which the leaderboard does not count."""
    if not all(isinstance(turn, list) for turn in value):
        return None
    numbers = [one for turn in value for one in turn if isinstance(one, (int, float)) and not isinstance(one, bool)]
    return [float(one) for one in numbers if abs(one) < 1e300]


def _sum_integers(value: Any) -> int | None:
    total = _sum_numbers(value)
    return int(total) if total is not None and abs(total) < 1e15 else None


def turn_address(turn: int) -> str:
    """Addresses count turns from 1, the benchmark from 0."""
    return f"turn:{turn + 1}"
