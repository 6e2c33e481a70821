"""Build BFCL items from a result record, a dataset item with its errata, and a score entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any

from fcreview.equivalence import EquivalenceRule
from fcreview.errata import CategoryCorrections, Errata, ErrataEntry
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
from fcreview.importers.bfcl.execution.executor import Executor
from fcreview.importers.bfcl.execution.recompute import (
    MultiTurnVerdict,
    describe_skipped_call,
    recompute_multi_turn,
)
from fcreview.importers.bfcl.joining import is_same_golden_answer
from fcreview.importers.common.incidents import apply_incident
from fcreview.importers.common.jsonl import JsonRecord
from fcreview.importers.common.records import add_issue, function_names, is_number, set_position
from fcreview.matching.align import align_calls_by_turn
from fcreview.matching.decisive_call import add_decisive_call, find_call_loop
from fcreview.matching.decisive_step import add_guessed_step
from fcreview.matching.first_difference import (
    FirstDifference,
    find_first_difference,
    is_in_argument,
    set_difference_location,
)
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
    SharedList,
    StateDifference,
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
        """Apply the user's errata to a dataset item: a corrected golden answer, and equivalence
        rules, which accept more values.

        The result is a copy, because other runs use the item itself.
        """
        if item.ground_truth is None:
            return CorrectedItem(item)
        correction = self.find_correction(item_id, item.ground_truth, item.opening_messages)
        rules = self._find_equivalence_rules(item)
        is_changed = correction.entry is not None or bool(rules)
        if not is_changed:
            return CorrectedItem(item, erratum=correction.erratum)

        # All runs share the item. So its cache keeps the copy for the next run with these errata,
        # beside the compiled golden calls, whose keys begin with "golden:".
        key = f"errata:{self._errata.digest}:{item_id}"
        corrected = item.expected_calls_cache.get(key)
        if corrected is None:
            corrected = _make_corrected_copy(item, correction.entry, rules)
            item.expected_calls_cache[key] = corrected
        return CorrectedItem(corrected, original=item, erratum=correction.erratum)

    def _find_equivalence_rules(self, item: DatasetItem) -> tuple[EquivalenceRule, ...]:
        """Return the rules for all functions, and those for the functions of the item."""
        rules = self._errata.rules
        if not rules:
            return ()
        names = function_names(item.functions)
        return tuple(rule for rule in rules if rule.function == "" or rule.function in names)


def _make_corrected_copy(
    item: DatasetItem, entry: ErrataEntry | None, rules: tuple[EquivalenceRule, ...]
) -> DatasetItem:
    """Copy a dataset item, and apply a corrected golden answer and equivalence rules.

    The copy keeps the golden hash of the item, so that the reviews that led to the correction do
    not become stale.
    """
    # The caches depend on the golden answer, so the copy begins with empty ones.
    copy = replace(
        item,
        equivalence_rules=rules,
        expected_calls_cache={},
        evaluation_cache={},
        reply_cache={},
    )
    if entry is not None:
        copy.ground_truth = entry.new
        golden_calls = parse_golden_calls(entry.new, item.category, item.functions)
        copy.golden_calls = SharedList(golden_calls)
    return copy


DECODER_FIELD = "decoder"
CHECKER = "checker"
CHECKER_WITH_ERRATA = "checker with errata"
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
_item_values = attrgetter(*(field.name for field in fields(Item)))
MAX_SECONDS = 1e300
"""Absolute value from which a number of seconds or tokens is ignored."""
MAX_TOKENS = 1e15
MAX_LISTED_CALLS = 3
"""Largest number of calls of an item that were not executed and that issues name."""
STATE_DIFFERENCES = "state differences by turn"
"""Metadata key: turn, from 1 -> `Class.attribute` -> values after golden and predicted calls."""
MAX_TEXT_LENGTH = 300
"""Longest first difference, in characters."""


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
    executor: Executor | None = None
    """Executes multi-turn calls. None if the user did not allow it."""
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
    if context.kind == "single":
        return _build_single_turn_item(context, inputs, record)
    return _build_multi_turn_item(context, inputs, record)


def _build_multi_turn_item(
    context: CategoryContext, inputs: ItemInputs, record: dict[str, Any]
) -> Item:
    """Build the item of a multi-turn category from its result record."""
    item = _make_partial_item(context, inputs, record)
    item.prediction_hash = answer_hash(record.get("result"))
    _fill_multi_turn(item, context, record, inputs)
    incident = incidents.find_incident(record)
    apply_record_incident(item, incident, record)
    _flag_undecoded_call(item, incident, is_undecoded=_has_undecoded_step(item))
    return item


def _build_single_turn_item(
    context: CategoryContext, inputs: ItemInputs, record: dict[str, Any]
) -> Item:
    """Build the item of a result record with one reply.

    Many runs give the same reply to a question. If another run already has the item with this
    reply and verdict, the item is a copy, in which only the `RUN_SPECIFIC_FIELDS` differ.
    """
    category, config = filenames.resolve_category_and_config(inputs.id, context.category)
    settings = EvaluationSettings(
        context.rules_version, category=category, decoder=context.decoder, config=config
    )
    # The evaluation of equal replies is shared by all runs, and with it their items.
    reply = evaluate_record(inputs.corrected.item, record, settings)
    incident = incidents.find_incident(record)
    make_item = partial(
        _make_single_turn_item, context, inputs, record, settings, reply=reply, incident=incident
    )
    if not _is_shareable(inputs, record, reply, incident):
        return make_item()

    key = (inputs.id, context.score_file_name, inputs.official)
    item_of_other_run = reply.items.get(key)
    if item_of_other_run is not None:
        return _copy_item(item_of_other_run, inputs, record, incident)
    # Later runs with this reply copy the item.
    reply.items[key] = make_item()
    return reply.items[key]


def _make_single_turn_item(
    context: CategoryContext,
    inputs: ItemInputs,
    record: dict[str, Any],
    settings: EvaluationSettings,
    *,
    reply: EvaluatedReply,
    incident: Incident | None,
) -> Item:
    """Make the item of a result record with one evaluated reply."""
    item = _make_partial_item(context, inputs, record)
    _fill_single_turn(item, record, inputs, settings, reply)
    if _names_decoder(reply.evaluation):
        _add_decoder_to_verdict(item, context)
    apply_record_incident(item, incident, record)
    _flag_undecoded_call(item, incident, is_undecoded=reply.is_undecoded)
    return item


def _is_shareable(
    inputs: ItemInputs, record: dict[str, Any], reply: EvaluatedReply, incident: Incident | None
) -> bool:
    """Whether all records with this reply, official verdict and score file give equal items."""
    # The item is kept with the reply, so the reply itself must be kept.
    if not reply.is_cached:
        return False
    # An official fail quotes the score entry of its own run.
    if inputs.official is False:
        return False
    # Another run may have other errata.
    if inputs.corrected.original is not None or inputs.corrected.erratum is not None:
        return False
    # Further fields and the latencies of steps become a part of the item, and differ by run.
    if not record.keys() <= SHAREABLE_FIELDS or type(record.get("latency")) is list:
        return False
    # Whether the request failed depends on the tokens too, not only on the reply.
    if incident is not None and incident.counts:
        return False
    # Other runs may have chosen the decoder for another reason.
    return not _names_decoder(reply.evaluation)


def _copy_item(
    first: Item, inputs: ItemInputs, record: dict[str, Any], incident: Incident | None
) -> Item:
    """Copy the item of another run for a record with the same reply."""
    item = Item(*_item_values(first))
    item.issues = []
    item.flags = list(first.flags)
    _set_run_specific_fields(item, inputs, record)
    item.set_incident(incident)
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
    """Make an item with everything that does not depend on the decoded reply: the question, the
    golden answer, the official verdict and the metadata.
    """
    dataset_item = inputs.corrected.item
    item = Item(
        inputs.id, context.category, question=dataset_item.question, official=inputs.official
    )
    item.messages = dataset_item.opening_messages
    item.golden = dataset_item.golden_calls
    item.golden_hash = dataset_item.golden_hash
    item.functions = dataset_item.functions
    item.extra = Extra(erratum=inputs.corrected.erratum, metadata=dict(dataset_item.extra))
    # API keys were removed from the items of this category.
    item.extra.redacted = context.category == "rest"
    item.extra.metadata[DECODER_FIELD] = context.decoder.name

    _set_run_specific_fields(item, inputs, record)
    step_seconds = _list_step_seconds(record.get("latency"))
    if step_seconds:
        item.seconds = step_seconds
    _add_unknown_fields(item, context, record)
    if "traceback" in record:
        item.extra.metadata["traceback"] = record["traceback"]
    _add_official_verdict(item, inputs, context)
    return item


def _add_official_verdict(item: Item, inputs: ItemInputs, context: CategoryContext) -> None:
    if inputs.official is True:
        item.verdicts.append(Verdict("official", True, by=context.score_file_name))
    elif inputs.official is False:
        item.verdicts.append(_make_official_fail_verdict(item, inputs, context))


def _add_unknown_fields(item: Item, context: CategoryContext, record: dict[str, Any]) -> None:
    """Add the fields that BFCL does not have to the metadata, and note the line of the first."""
    for key in record.keys() - KNOWN_FIELDS:
        item.extra.metadata[key] = record[key]
        context.unknown_fields.setdefault(key, item.line)


def _list_step_seconds(latency: Any) -> list[float]:
    """Return the latency of each step from `[turn][step]`. Empty if there is only a total."""
    if not isinstance(latency, list) or not all(isinstance(turn, list) for turn in latency):
        return []
    seconds: list[float] = []
    for turn in latency:
        for step in turn:
            if is_number(step) and abs(step) < MAX_SECONDS:
                seconds.append(float(step))
    return seconds


def _set_run_specific_fields(item: Item, inputs: ItemInputs, record: dict[str, Any]) -> None:
    """Set the `RUN_SPECIFIC_FIELDS`, except the latencies of steps."""
    item.tokens_in = _read_tokens(record.get("input_token_count"))
    item.tokens_out = _read_tokens(record.get("output_token_count"))
    item.latency = _read_latency(record.get("latency"))
    item.file = inputs.file
    set_position(item, inputs.position)


def _read_tokens(count: Any) -> int | None:
    """Return a number of tokens, which multi-turn records have for each step."""
    if type(count) is int:
        return count
    return _sum_nested_integers(count)


def _read_latency(latency: Any) -> float | None:
    """Return a latency in seconds, which multi-turn records have for each step."""
    if type(latency) is float:
        return latency
    return _sum_nested_numbers(latency)


def _make_official_fail_verdict(
    item: Item, inputs: ItemInputs, context: CategoryContext
) -> Verdict:
    """Make the verdict of a score entry. Also set the item's error type and score record."""
    entry = inputs.score_entry
    if entry is None:
        return Verdict("official", False, by=context.score_file_name)

    item.error_type = scores.read_error_type(entry.record)
    if entry.length:
        item.extra.score_record = RecordLocation(
            context.score_file_path, line=entry.line, offset=entry.offset, length=entry.length
        )
    return Verdict(
        "official",
        False,
        error_type=item.error_type,
        rationale=_join_rationales(entry, inputs.further_entries),
        by=context.score_file_name,
    )


def _join_rationales(
    entry: scores.ScoreEntry, further_entries: Sequence[scores.ScoreEntry]
) -> str | None:
    """Return the rationale of a score entry, and those of further entries for the same item."""
    rationales: list[str] = []
    first = scores.read_rationale(entry.record)
    if first:
        rationales.append(first)
    for further in further_entries:
        error_type = scores.read_error_type(further.record)
        rationale = scores.read_rationale(further.record) or ""
        rationales.append(f"then {error_type}: {rationale}")
    return "\n".join(rationales) or None


def _fill_single_turn(
    item: Item,
    record: dict[str, Any],
    inputs: ItemInputs,
    settings: EvaluationSettings,
    reply: EvaluatedReply,
) -> None:
    """Add the reply of a result record to an item: messages, calls, pairs, the recomputed verdict
    and the first difference.

    `reply` is the evaluated reply. If the user's errata change the verdict, the verdict without
    them is recorded as well.
    """
    evaluation = reply.evaluation
    if settings.config is not None:
        _set_format_sensitivity_fields(item)
    item.messages = reply.messages
    item.predicted = reply.predicted
    item.pairs = reply.pairs
    item.shared_opening = inputs.corrected.item.opening_messages
    item.prediction_hash = reply.prediction_hash
    item.n_steps = 1

    # This is None if the errata do not change the verdict.
    item.extra.without_errata = _find_other_verdict_without_errata(
        evaluation, inputs, record, settings
    )
    _add_checker_verdict(item, evaluation)

    # Of an item that passes by all verdicts, no difference is shown.
    has_no_verdict = item.official is None and evaluation.valid is None
    if item.official is False or evaluation.valid is False or has_no_verdict:
        set_first_difference(item, item.pairs, evaluation)


def _add_checker_verdict(item: Item, evaluation: Evaluation) -> None:
    """Add the verdict of BFCL's rules, or the note that explains why there is none."""
    item.rule = evaluation.valid
    item.rule_note = evaluation.note
    if evaluation.valid is None:
        return
    item.rule_error_type = evaluation.error_type
    do_errata_change_verdict = item.extra.without_errata is not None
    verdict = Verdict(
        "rule",
        evaluation.valid,
        error_type=evaluation.error_type,
        rationale="\n".join(evaluation.messages) or None,
        by=CHECKER_WITH_ERRATA if do_errata_change_verdict else CHECKER,
    )
    item.verdicts.append(verdict)


def _set_format_sensitivity_fields(item: Item) -> None:
    """Set the prompt configuration and the original item, which the id contains."""
    parts = filenames.split_format_sensitivity_id(item.id)
    if parts is None:
        return
    _, config, original_id = parts
    item.setting = config
    item.extra.metadata["original"] = original_id


def _find_other_verdict_without_errata(
    evaluation: Evaluation,
    inputs: ItemInputs,
    record: dict[str, Any],
    settings: EvaluationSettings,
) -> RecomputedVerdict | None:
    """Return the verdict by the dataset's own golden answer, if errata change the verdict."""
    original = inputs.corrected.original
    if original is None:
        return None
    uncorrected = evaluate_record(original, record, settings).evaluation
    if uncorrected.valid == evaluation.valid and uncorrected.error_type == evaluation.error_type:
        return None
    return RecomputedVerdict(uncorrected.valid, uncorrected.error_type)


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
    """Set where the first error of an item is, and the text that describes it.

    The comparison of the pairs finds a place and a text. If the checker names a place, its place
    counts. `evaluation` is the outcome of the checker, or None without recomputed verdict.
    """
    # A reply that cannot be decoded has a text but no place.
    if evaluation is not None and evaluation.decode_error:
        item.first_difference = evaluation.decode_error[:MAX_TEXT_LENGTH]
        return

    compared = find_first_difference(pairs, item.golden, item.predicted, COMPARISON_RULES)
    text = _choose_difference_text(compared, evaluation)
    if text is None:
        text = _read_first_line_of_rationale(item)

    compared.apply_to(item)
    if evaluation is not None and evaluation.function is not None:
        set_difference_location(item, evaluation.function, evaluation.argument)
    item.first_difference = text[:MAX_TEXT_LENGTH] if text else None


def _read_first_line_of_rationale(item: Item) -> str | None:
    """Return the first line of the official verdict's rationale, which explains a failure."""
    if not item.verdicts or not item.verdicts[0].rationale:
        return None
    first_line, _, _ = item.verdicts[0].rationale.partition("\n")
    return first_line


def _choose_difference_text(
    difference: FirstDifference, evaluation: Evaluation | None
) -> str | None:
    """Choose the text that describes the first error of an item.

    The text of the comparison (`difference`) shows both values, so it is preferred. But if the
    checker (`evaluation`) failed the item for another argument, only its message is right.
    """
    if evaluation is None:
        return difference.text
    message = evaluation.messages[0] if evaluation.messages else None
    # The checker names no function if the error is not in a single call.
    if evaluation.function is None:
        return message if difference.text is None else difference.text
    if _is_about_same_argument(difference, evaluation):
        return difference.text
    return message or difference.text


def _is_about_same_argument(difference: FirstDifference, evaluation: Evaluation) -> bool:
    """Whether a comparison and the checker found an error in the same argument.

    The comparison can name a part of the argument, such as `filter.price`; the checker names only
    the argument.
    """
    if difference.argument is None and evaluation.argument is None:
        return difference.function == evaluation.function
    return is_in_argument(difference.argument, evaluation.argument)


def _fill_multi_turn(
    item: Item, context: CategoryContext, record: dict[str, Any], inputs: ItemInputs
) -> None:
    """Add the trajectory of a result record to an item: the messages and calls of all turns.

    Its verdict needs the simulated apps of BFCL. It is recomputed only if the user allowed the
    import to execute calls with them.
    """
    dataset_item = inputs.corrected.item
    decode = partial(decode_step, decoder=context.decoder, rules_version=context.rules_version)
    steps = trajectory.build_trajectory(
        record, dataset_item.opening_messages, decode, dataset_item.functions
    )
    item.messages = steps.messages
    item.predicted = steps.calls
    item.n_turns = steps.n_turns
    item.n_steps = steps.n_steps
    item.rule_note = NOT_RECOMPUTED_NOTES[context.kind]
    if context.executor is not None and context.kind == "multi_turn":
        _recompute_multi_turn(item, context, record.get("result"), inputs, context.executor)

    # The golden answer of an agentic item is a text, that of other items are calls.
    if context.kind == "agentic":
        _set_final_answer(item, dataset_item, steps.final_answer)
    else:
        item.pairs = align_calls_by_turn(dataset_item.golden_calls, steps.calls, COMPARISON_RULES)
    _explain_multi_turn_failure(item, context, inputs.score_entry)


def _explain_multi_turn_failure(
    item: Item, context: CategoryContext, entry: scores.ScoreEntry | None
) -> None:
    """Add what went wrong in a failing item. Its score entry tells the turn and the states."""
    if entry is not None and item.official is False:
        scores.add_multi_turn_details(entry.record, item.extra)
        _set_failing_turn(item)
        _add_decisive_step(item, context)
    # Without a score entry, an item that fails only by the recomputed verdict, or whose official
    # verdict is unknown, has at least the difference from the golden answer.
    elif item.official is None or item.rule is False:
        set_first_difference(item, item.pairs, None)


def _recompute_multi_turn(
    item: Item, context: CategoryContext, result: Any, inputs: ItemInputs, executor: Executor
) -> None:
    """Add the verdict of the official package, and the states that differ after each turn.

    If the user's errata correct the golden answer and this changes the verdict, the verdict with
    the original golden answer is recorded as well.
    """
    original_item = inputs.corrected.original
    recompute = partial(
        recompute_multi_turn,
        executor,
        uncorrected=original_item or inputs.corrected.item,
        result=result,
        decoder=context.decoder,
        version=context.version,
    )

    verdict = recompute(inputs.corrected.item)
    item.rule = verdict.valid
    item.rule_note = verdict.note or None
    for call in verdict.skipped[:MAX_LISTED_CALLS]:
        add_issue(item, describe_skipped_call(call, MAX_TEXT_LENGTH), severity="notice")
    _add_state_differences_of_turns(item, verdict)
    if verdict.valid is None:
        return

    by = executor.package
    if original_item is not None:
        item.extra.without_errata = _get_different_verdict(recompute(original_item), verdict)
    if item.extra.without_errata is not None:
        by = CHECKER_WITH_ERRATA
    item.rule_error_type = verdict.error_type
    rule_verdict = Verdict("rule", verdict.valid, error_type=verdict.error_type, by=by)
    rule_verdict.rationale = verdict.message
    item.verdicts.append(rule_verdict)


def _get_different_verdict(
    original: MultiTurnVerdict, corrected: MultiTurnVerdict
) -> RecomputedVerdict | None:
    """Return the verdict without errata. None if the errata do not change it."""
    if (original.valid, original.error_type) == (corrected.valid, corrected.error_type):
        return None
    return RecomputedVerdict(original.valid, original.error_type)


def _add_state_differences_of_turns(item: Item, verdict: MultiTurnVerdict) -> None:
    """Add the states of the simulated apps that are wrong after each turn to the metadata, and
    those after the failing turn to the item's table.
    """
    differences_by_turn = {}
    for turn, executed in enumerate(verdict.turns):
        if executed.differences:
            differences_by_turn[str(turn + 1)] = executed.differences
    if differences_by_turn:
        item.extra.metadata[STATE_DIFFERENCES] = differences_by_turn

    # The score entry of a failing item has its own failing turn.
    failing_turn = verdict.failing_turn
    if failing_turn is None or item.official is False:
        return
    item.extra.failing_turn = failing_turn
    differences = verdict.turns[failing_turn].differences
    if differences:
        item.extra.state_differences = {
            name: StateDifference(values["golden"], values["model"])
            for name, values in differences.items()
        }


def _set_final_answer(item: Item, dataset_item: DatasetItem, final_answer: str | None) -> None:
    """Set the answers of an agentic item. BFCL judges only the final answer."""
    accepted = dataset_item.ground_truth
    item.extra.accepted_answers = accepted if isinstance(accepted, list) else None
    item.extra.final_answer = final_answer
    if item.official is not None:
        item.verdicts.append(replace(item.verdicts[0], target="response"))


def _set_failing_turn(item: Item) -> None:
    """Add a verdict on the turn at which the checker stopped, and set the first difference.

    The item fails officially, and its official verdict is the first in its list.
    """
    failing_turn = item.extra.failing_turn
    pairs = item.pairs
    if failing_turn is not None:
        official_verdict = item.verdicts[0]
        item.verdicts.append(replace(official_verdict, target=turn_address(failing_turn)))
        pairs = [pair for pair in item.pairs if pair.turn == failing_turn]
    elif item.error_type in WHOLE_ITEM_ERRORS:
        # No call caused the error. So no difference of a call explains it, only the rationale.
        pairs = []
    set_first_difference(item, pairs, None)


def _add_decisive_step(item: Item, context: CategoryContext) -> None:
    """Guess the step that made a multi-turn item fail."""
    failing_turn = item.extra.failing_turn
    if context.kind == "multi_turn" and failing_turn is not None:
        # Only a call with an effect can have made the final state different.
        is_state_mismatch = item.error_type == "multi_turn:instance_state_mismatch"
        add_decisive_call(item, failing_turn, only_effect_counts=is_state_mismatch)
    elif item.error_type == "multi_turn:force_terminated":
        # A model that is stopped after too many steps often repeats a call.
        add_guessed_step(item, find_call_loop(item))


def _flag_undecoded_call(item: Item, incident: Incident | None, *, is_undecoded: bool) -> None:
    """Flag a reply with the text of a call that the decoder did not read.

    The error of a failed request may quote a call, but it is no reply.
    """
    is_failed_request = incident is not None and incident.counts
    if is_failed_request:
        return
    if is_undecoded:
        item.flags.append("undecoded")


def _has_undecoded_step(item: Item) -> bool:
    """Whether a step without calls contains the text of a call."""
    steps_with_calls = {(call.turn, call.step) for call in item.predicted}
    names = function_names(item.functions)
    for message in item.messages:
        # An assistant message of the question has the step -1, and a message with a name has the
        # reasoning before a reply.
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
    item.functions = dataset_item.functions
    item.golden = dataset_item.golden_calls
    item.golden_hash = dataset_item.golden_hash
    item.rule_note = reason
    _set_run_specific_fields(item, inputs, {})
    if inputs.official is not None:
        item.verdicts.append(Verdict("official", inputs.official, by=context.score_file_name))
    add_issue(item, reason, severity="error")
    return item


def _sum_nested_numbers(value: Any) -> float | None:
    """Return the sum of the numbers in nested lists; None if there is no number."""
    if is_number(value):
        return float(value) if abs(value) < MAX_SECONDS else None
    if not isinstance(value, list):
        return None
    parts = [part for part in map(_sum_nested_numbers, value) if part is not None]
    return sum(parts) if parts else None


def _sum_nested_integers(value: Any) -> int | None:
    total = _sum_nested_numbers(value)
    if total is None or abs(total) >= MAX_TOKENS:
        return None
    return int(total)
