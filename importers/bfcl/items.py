"""Build BFCL items from a result record, a dataset item with its errata, and a score entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

from fcreview.errata import CategoryCorrections, Errata
from fcreview.importers.bfcl import filenames, incidents, scores, trajectory
from fcreview.importers.bfcl.checker.evaluate import (
    EvaluatedReply,
    Evaluation,
    EvaluationSettings,
    decode_step,
    evaluate_record,
)
from fcreview.importers.bfcl.checker.rules import NOT_RECOMPUTED_NOTES
from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.bfcl.dataset import DatasetItem, parse_golden_calls
from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.raw_calls import holds_call_text
from fcreview.importers.bfcl.joining import is_same_golden_answer
from fcreview.importers.common.incidents import apply_incident
from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.records import add_issue, function_names, is_number
from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.decisive_call import add_decisive_call, find_call_loop
from fcreview.matching.decisive_step import add_guessed_step
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.address import turn_address
from fcreview.model.incident import Incident
from fcreview.model.item import (
    CallPair,
    Erratum,
    Extra,
    Item,
    RecomputedVerdict,
    RecordLocation,
    Run,
    SharedContent,
    SharedList,
    Verdict,
)
from fcreview.model.json_value import answer_hash


@dataclass(slots=True)
class CorrectedItem:
    """A dataset item with the errata that apply to it."""

    item: DatasetItem
    original: DatasetItem | None = None
    """The item without errata; None if no erratum and no equivalence rule applies."""
    erratum: Erratum | None = None
    """Correction of the golden answer. A stale correction is listed but not applied."""


class GoldenCorrector(CategoryCorrections):
    """Applies a run's errata to the dataset items of one category."""

    def __init__(self, errata: Errata | None, run: Run, category: str) -> None:
        super().__init__(errata or Errata(), run, category, is_same_golden_answer)
        self.category = category

    def correct_item(self, item_id: str, item: DatasetItem) -> CorrectedItem:
        """Return a corrected copy of a dataset item. The original does not change, because other
        runs use it.

        The copy keeps the original's golden hash, so the reviews that led to the correction do not
        become stale.
        """
        if item.ground_truth is None:
            return CorrectedItem(item)
        found = self.find_correction(item_id, item.ground_truth, item.opening_messages)
        names = function_names(item.functions) if self._errata.rules else ()
        rules = tuple(
            rule for rule in self._errata.rules if rule.function == "" or rule.function in names
        )
        if found.entry is None and not rules:
            return CorrectedItem(item, erratum=found.erratum)
        key = f"errata:{self._errata.digest}:{item_id}"
        corrected = item.expected_calls_cache.get(key)
        if corrected is None:
            caches: dict[str, Any] = {
                "expected_calls_cache": {},
                "evaluation_cache": {},
                "reply_cache": {},
            }
            corrected = replace(item, equivalence_rules=rules, **caches)
            if found.entry is not None:
                corrected.ground_truth = found.entry.new
                corrected.golden_calls = SharedList(
                    parse_golden_calls(found.entry.new, item.category, item.functions)
                )
            item.expected_calls_cache[key] = corrected
        return CorrectedItem(corrected, original=item, erratum=found.erratum)


DECODER_FIELD = "decoder"
CHECKER, CHECKER_WITH_ERRATA = "checker", "checker with errata"
"""Values of `Verdict.by` for recomputed verdicts, without and with errata."""
WHOLE_ITEM_ERRORS = frozenset({"multi_turn:inference_error", "multi_turn:force_terminated"})
"""Error types of multi-turn items that are not caused by a single call."""
KNOWN_FIELDS = frozenset(
    {
        "id",
        "idx",
        "result",
        "input_token_count",
        "output_token_count",
        "latency",
        "inference_log",
        "reasoning_content",
        "traceback",
    }
)
SHAREABLE_FIELDS = KNOWN_FIELDS - {"traceback", "inference_log"}
"""If a result record has only these fields, items of other runs can share the content of its
item.
"""
_item_values = attrgetter(*(each.name for each in fields(Item)))


@dataclass(slots=True)
class CategoryContext:
    """What all items of one category of a run have in common."""

    version: str
    category: str
    decoder: Decoder
    decoder_reason: str = ""
    """Why this decoder was chosen."""
    score_file_name: str = ""
    score_file_path: str = ""
    unknown_fields: dict[str, int] = field(default_factory=dict)
    """Unknown field of result records -> line of the first record with the field."""
    kind: str = field(default="single", init=False)
    """Kind of category: "single" (one turn), "multi_turn" or "agentic"."""
    rules_version: str = field(init=False)

    def __post_init__(self) -> None:
        self.rules_version = filenames.get_rules_version(self.version)
        if self.category.startswith("multi_turn"):
            self.kind = "multi_turn"
        elif self.category.startswith(("memory", "web_search")):
            self.kind = "agentic"


@dataclass(slots=True)
class ItemInputs:
    """Data of one item besides its result record."""

    id: str
    corrected: CorrectedItem
    official: bool | None
    score_entry: scores.ScoreEntry | None
    file: str
    position: JsonRecord
    further_entries: Sequence[scores.ScoreEntry] = ()


def build_item(context: CategoryContext, inputs: ItemInputs, record: dict[str, Any]) -> Item:
    if context.kind != "single":
        item = _make_partial_item(context, inputs, record)
        item.prediction_hash = answer_hash(record.get("result"))
        _fill_multi_turn(item, context, record, inputs)
        incident = incidents.find_incident(record)
        apply_record_incident(item, incident, record)
        _flag_undecoded_call(item, incident, is_undecoded=_has_undecoded_step(item))
        return item
    category, config = filenames.resolve_category_and_config(inputs.id, context.category)
    settings = EvaluationSettings(
        context.rules_version, category=category, decoder=context.decoder, config=config
    )
    reply = evaluate_record(inputs.corrected.item, record, settings)
    key = inputs.id, context.score_file_name, inputs.official
    # The item differs from items with the same reply only in `RUN_SPECIFIC_FIELDS`.
    is_corrected = inputs.corrected.original is not None or inputs.corrected.erratum is not None
    is_shareable = reply.is_cached and inputs.official is not False and not is_corrected
    is_shareable = (
        is_shareable
        and record.keys() <= SHAREABLE_FIELDS
        and type(record.get("latency")) is not list
    )
    # Whether the request failed depends on the tokens too, not only on the reply.
    incident = incidents.find_incident(record)
    is_shareable = is_shareable and not (incident is not None and incident.counts)
    is_shareable = is_shareable and not _names_decoder(reply.evaluation)
    first = reply.items.get(key)
    if first is not None and is_shareable:
        # most replies do not repeat, so only the second item with a reply creates it
        if first.shared_content is None:
            first.shared_content = SharedContent()
        item = Item(*_item_values(first))
        item.issues = []
        item.flags = list(first.flags)
        _set_run_specific_fields(item, inputs, record)
        item.set_incident(incident)
        return item
    item = _make_partial_item(context, inputs, record)
    _fill_single_turn(item, record, inputs, settings, reply)
    if _names_decoder(reply.evaluation):
        _add_decoder_to_verdict(item, context)
    apply_record_incident(item, incident, record)
    _flag_undecoded_call(item, incident, is_undecoded=reply.is_undecoded)
    if is_shareable:
        reply.items[key] = item
    return item


def apply_record_incident(item: Item, incident: Incident | None, record: dict[str, Any]) -> None:
    """Record an incident.

    If the request failed, the item has no calls, and every golden call is missing.
    """
    apply_incident(item, incident)
    if incident is None or not incident.counts:
        return
    incidents.remove_reply_of_failed_request(item, record)
    item.pairs = align_calls_by_turn(item.golden, item.predicted, COMPARISON_RULES)


def _make_partial_item(
    context: CategoryContext, inputs: ItemInputs, record: dict[str, Any]
) -> Item:
    """Make an item with everything except the predicted calls and the recomputed verdict."""
    dataset_item, official = inputs.corrected.item, inputs.official
    item = Item(inputs.id, context.category, question=dataset_item.question, official=official)
    item.messages, item.golden = dataset_item.opening_messages, dataset_item.golden_calls
    item.functions, item.golden_hash = dataset_item.functions, dataset_item.golden_hash
    item.extra = Extra(erratum=inputs.corrected.erratum, metadata=dict(dataset_item.extra))
    _set_run_specific_fields(item, inputs, record)
    item.extra.metadata[DECODER_FIELD] = context.decoder.name
    latency = record.get("latency")
    if isinstance(latency, list) and all(isinstance(turn, list) for turn in latency):
        steps = [
            float(each)
            for turn in latency
            for each in turn
            if is_number(each) and abs(each) < 1e300
        ]
        item.seconds = steps or item.seconds
    for key in record.keys() - KNOWN_FIELDS:
        item.extra.metadata[key] = record[key]
        context.unknown_fields.setdefault(key, item.line)
    item.extra.redacted = context.category == "rest"
    if "traceback" in record:
        item.extra.metadata["traceback"] = record["traceback"]
    if official is True:
        item.verdicts.append(Verdict("official", True, by=context.score_file_name))
    elif official is False:
        item.verdicts.append(_make_official_fail_verdict(item, inputs, context))
    return item


def _set_run_specific_fields(item: Item, inputs: ItemInputs, record: dict[str, Any]) -> None:
    """Set the `RUN_SPECIFIC_FIELDS`, except the latencies of steps."""
    tokens_in, tokens_out = record.get("input_token_count"), record.get("output_token_count")
    latency, position = record.get("latency"), inputs.position
    item.tokens_in = tokens_in if type(tokens_in) is int else _sum_nested_integers(tokens_in)
    item.tokens_out = tokens_out if type(tokens_out) is int else _sum_nested_integers(tokens_out)
    item.latency = latency if type(latency) is float else _sum_nested_numbers(latency)
    item.file, item.line, item.offset, item.length = (
        inputs.file,
        position.line,
        position.offset,
        position.length,
    )


def _make_official_fail_verdict(
    item: Item, inputs: ItemInputs, context: CategoryContext
) -> Verdict:
    entry = inputs.score_entry
    if entry is None:
        return Verdict("official", False, by=context.score_file_name)
    item.error_type = scores.read_error_type(entry.record)
    if entry.length:
        item.extra.score_record = RecordLocation(
            context.score_file_path, line=entry.line, offset=entry.offset, length=entry.length
        )
    messages = [scores.read_rationale(entry.record)]
    for further in (each.record for each in inputs.further_entries):
        messages.append(
            f"then {scores.read_error_type(further)}: {scores.read_rationale(further) or ''}"
        )
    rationale = "\n".join(filter(None, messages)) or None
    return Verdict(
        "official",
        False,
        target="item",
        criterion="correct",
        error_type=item.error_type,
        rationale=rationale,
        by=context.score_file_name,
    )


def _fill_single_turn(
    item: Item,
    record: dict[str, Any],
    inputs: ItemInputs,
    settings: EvaluationSettings,
    reply: EvaluatedReply,
) -> None:
    evaluation, by = reply.evaluation, CHECKER
    if settings.config is not None and (parts := filenames.split_format_sensitivity_id(item.id)):
        item.setting = parts[1]
        item.extra.metadata["original"] = parts[2]
    if inputs.corrected.original is not None:
        uncorrected = evaluate_record(inputs.corrected.original, record, settings).evaluation
        if (uncorrected.valid, uncorrected.error_type) != (evaluation.valid, evaluation.error_type):
            item.extra.without_errata = RecomputedVerdict(uncorrected.valid, uncorrected.error_type)
            by = CHECKER_WITH_ERRATA
    item.messages, item.predicted, item.pairs = reply.messages, reply.predicted, reply.pairs
    item.shared_opening = inputs.corrected.item.opening_messages
    item.prediction_hash = reply.prediction_hash
    item.n_steps = 1
    item.rule, item.rule_note = evaluation.valid, evaluation.note
    if evaluation.valid is not None:
        item.rule_error_type = evaluation.error_type
        rationale = "\n".join(evaluation.messages) or None
        verdict = Verdict(
            "rule",
            evaluation.valid,
            target="item",
            criterion="correct",
            error_type=evaluation.error_type,
            rationale=rationale,
            by=by,
        )
        item.verdicts.append(verdict)
    if (
        item.official is False
        or evaluation.valid is False
        or (item.official is None and evaluation.valid is None)
    ):
        set_first_difference(item, item.pairs, evaluation)


def _names_decoder(evaluation: Evaluation) -> bool:
    """Whether the verdict names the decoder, because the item fails only because its reply
    cannot be decoded.
    """
    return evaluation.decode_error is not None and evaluation.valid is False


def _add_decoder_to_verdict(item: Item, context: CategoryContext) -> None:
    """Add the decoder, and why it was chosen, to the recomputed verdict."""
    verdict = item.verdicts[-1]
    decoder = f"decoder {context.decoder.name}: {context.decoder_reason}"
    item.verdicts[-1] = replace(verdict, rationale=f"{verdict.rationale or ''}\n{decoder}".lstrip())


def set_first_difference(item: Item, pairs: list[CallPair], evaluation: Evaluation | None) -> None:
    """Set the location and the text of the first error, which the checker or the comparison of the
    calls found.

    A reply that cannot be decoded has a text but no location.
    """
    if evaluation is not None and evaluation.decode_error:
        item.first_difference = evaluation.decode_error[:300]
        return
    first = find_first_difference(pairs, item.golden, item.predicted, COMPARISON_RULES)
    first.apply_to(item)
    text = first.text
    message = next(iter(evaluation.messages), None) if evaluation is not None else None
    if evaluation is not None and evaluation.function is not None:
        function, argument = evaluation.function, evaluation.argument
        if (function, argument) != (first.function, first.argument):
            is_inside = (
                first.argument is not None
                and argument is not None
                and first.argument.startswith(str(argument))
            )
            text = text if is_inside else message or text
        set_difference_location(item, function, argument)
    elif text is None:
        text = message
    if text is None and item.verdicts and item.verdicts[0].rationale:
        text = item.verdicts[0].rationale.split("\n", 1)[0]
    item.first_difference = text[:300] if text else None


def _fill_multi_turn(
    item: Item, context: CategoryContext, record: dict[str, Any], inputs: ItemInputs
) -> None:
    dataset_item, entry = inputs.corrected.item, inputs.score_entry
    decode = partial(decode_step, decoder=context.decoder, rules_version=context.rules_version)
    found = trajectory.build_trajectory(
        record, dataset_item.opening_messages, decode, dataset_item.functions
    )
    item.messages, item.predicted = found.messages, found.calls
    item.n_turns, item.n_steps = found.n_turns, found.n_steps
    item.rule_note = NOT_RECOMPUTED_NOTES[context.kind]
    pairs: list[CallPair] = []
    if context.kind == "agentic":
        answers = dataset_item.ground_truth
        item.extra.accepted_answers = answers if isinstance(answers, list) else None
        item.extra.final_answer = found.final_answer
        if item.official is not None:
            item.verdicts.append(replace(item.verdicts[0], target="response"))
    else:
        pairs = item.pairs = align_calls_by_turn(
            dataset_item.golden_calls, found.calls, COMPARISON_RULES
        )
    if entry is not None and item.official is False:
        scores.add_multi_turn_details(entry.record, item.extra)
        failing = item.extra.failing_turn
        if failing is not None:
            item.verdicts.append(replace(item.verdicts[0], target=turn_address(failing)))
            pairs = [pair for pair in pairs if pair.turn == failing]
        elif item.error_type in WHOLE_ITEM_ERRORS:
            pairs = []
        set_first_difference(item, pairs, None)
        if context.kind == "multi_turn" and failing is not None:
            add_decisive_call(
                item,
                failing,
                only_effect_counts=item.error_type == "multi_turn:instance_state_mismatch",
            )
        elif item.error_type == "multi_turn:force_terminated":
            add_guessed_step(item, find_call_loop(item))
    elif item.official is None:
        set_first_difference(item, pairs, None)


def _flag_undecoded_call(item: Item, incident: Incident | None, *, is_undecoded: bool) -> None:
    """Flag a reply with the text of a call that the decoder did not read.

    The error of a failed request may quote a call, but it is no reply.
    """
    is_failed_request = incident is not None and incident.counts
    if is_undecoded and not is_failed_request:
        item.flags.append("undecoded")


def _has_undecoded_step(item: Item) -> bool:
    """Whether a step without calls contains the text of a call."""
    steps_with_calls = {(call.turn, call.step) for call in item.predicted}
    names = function_names(item.functions)
    for message in item.messages:
        is_reply = message.role == "assistant" and message.name is None and message.step >= 0
        if not is_reply or (message.turn, message.step) in steps_with_calls:
            continue
        if holds_call_text(message.content, names):
            return True
    return False


def make_degraded_item(context: CategoryContext, inputs: ItemInputs, reason: str) -> Item:
    """Make an item without calls for a record that could not be interpreted, with `reason` as an
    issue.
    """
    dataset_item = inputs.corrected.item
    item = Item(
        inputs.id, context.category, question=dataset_item.question, official=inputs.official
    )
    item.functions, item.golden = dataset_item.functions, dataset_item.golden_calls
    item.golden_hash, item.rule_note = dataset_item.golden_hash, reason
    _set_run_specific_fields(item, inputs, {})
    if inputs.official is not None:
        item.verdicts.append(Verdict("official", inputs.official, by=context.score_file_name))
    add_issue(item, reason, severity="error")
    return item


def _sum_nested_numbers(value: Any) -> float | None:
    if is_number(value):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, list):
        parts = [part for part in map(_sum_nested_numbers, value) if part is not None]
        return sum(parts) if parts else None
    return None


def _sum_nested_integers(value: Any) -> int | None:
    total = _sum_nested_numbers(value)
    return int(total) if total is not None and abs(total) < 1e15 else None
