"""Choose the version of ACEBench's rules with which a run was scored, by its score files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.acebench.checker import check_calls
from fcreview.importers.acebench.decoding import (
    AUGUST_2025,
    NEWEST_RULE_SET,
    OCTOBER_2025,
    RULE_SETS,
    RuleSet,
    decode_reply,
    find_first_brackets,
    remove_whitespace,
    select_decoded_text,
)
from fcreview.importers.acebench.inputs import CategoryInputs
from fcreview.importers.acebench.leaderboard import MULTI_TURN_CATEGORIES
from fcreview.importers.common.quoted_replies import QuotedReplies
from fcreview.importers.common.records import Undecodable, as_list, as_object
from fcreview.importers.common.writeback import JsonObject
from fcreview.model.item import ImportIssue, Run, RunFact
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

WRONG_FORMAT = "wrong_output_format"
PARALLEL_ERROR = "Parallel function call failed"
"""Start of the error text with which the evaluator, since 29 October 2025, fails a reply to
several golden calls.
"""
MIN_AGREEING_SHARE = 0.9
"""Share of the score entries with which a version of the rules must agree, so that the score
files fit it.
"""
COUNT_ERRORS = (WRONG_FORMAT, "wrong functions number", "function_mismatch")
"""Error types whose text did not change on 29 October 2025."""


@dataclass(frozen=True, slots=True)
class RuleSetChoice:
    rule_set: RuleSet
    reason: str
    fits_scores: bool = True
    """False if the score files contradict every version of the rules."""

    def make_issue(self, run: Run) -> ImportIssue:
        """Return the issue for a run whose score files contradict every version of the rules."""
        what = (
            f"the score files fit no version of the evaluator's rules: {self.rule_set}"
            f" {self.reason}. Another evaluator wrote them, or the dataset is another one"
        )
        return ImportIssue(run.path, what=what)

    def make_fact(self) -> RunFact:
        return RunFact("evaluator", value=self.rule_set, reason=self.reason, is_notable=True)


@dataclass(slots=True)
class Agreement:
    """How many scored items each version of the rules agrees with."""

    n_compared: int = 0
    n_agreeing: dict[RuleSet, int] = field(default_factory=lambda: dict.fromkeys(RULE_SETS, 0))
    n_earlier_error_texts: int = 0
    """Failing entries with several golden calls whose error text is the one before 29 October
    2025.
    """
    n_later_error_texts: int = 0

    def add(self, agreeing: Sequence[RuleSet]) -> None:
        self.n_compared += 1
        for rule_set in agreeing:
            self.n_agreeing[rule_set] += 1


def choose_rule_set(
    plan: RunPlan, categories: Sequence[CategoryInputs], *, scores_are_of_other_replies: bool
) -> RuleSetChoice:
    """Choose the version of the evaluator's rules with which the verdicts are recomputed.

    The version that the user named counts, else the one that reproduces the score files, else the
    newest one.
    """
    named_version = plan.options.get("evaluator", "")
    for rule_set in RULE_SETS:
        if rule_set == named_version:
            return RuleSetChoice(rule_set, "chosen by the user")
    if scores_are_of_other_replies:
        reason = "the newest version, because the scores belong to other replies"
        return RuleSetChoice(NEWEST_RULE_SET, reason)

    agreement = _compare_with_scores(categories)
    if agreement.n_compared == 0:
        reason = "the newest version, because no score file tells which one was used"
        return RuleSetChoice(NEWEST_RULE_SET, reason)
    return _choose_by_agreement(agreement)


def _choose_by_agreement(agreement: Agreement) -> RuleSetChoice:
    """Choose the version of the evaluator's rules that reproduces more entries of the score files.

    The reason of the choice states the counts.
    """
    n_best = max(agreement.n_agreeing[AUGUST_2025], agreement.n_agreeing[OCTOBER_2025])
    fits_scores = n_best >= MIN_AGREEING_SHARE * agreement.n_compared
    rule_set, comparison = _compare_agreement(agreement)
    entries = format_count(agreement.n_compared, "score entry", "score entries")
    reason = f"agrees with {n_best:,} of {entries}{comparison}"
    return RuleSetChoice(rule_set, reason=reason, fits_scores=fits_scores)


def _compare_agreement(agreement: Agreement) -> tuple[RuleSet, str]:
    """Return the better version, and how it compares with the other one.

    If both versions reproduce equally many entries, the wording of the error texts can decide.
    """
    n_august = agreement.n_agreeing[AUGUST_2025]
    n_october = agreement.n_agreeing[OCTOBER_2025]
    if n_august > n_october:
        return AUGUST_2025, f"; {OCTOBER_2025} with {n_october:,}"
    if n_october > n_august:
        return OCTOBER_2025, f"; {AUGUST_2025} with {n_august:,}"

    # The evaluator got other error texts on 29 October 2025, six days after the new rules. So the
    # earlier texts are no proof of the earlier rules, but they make them likely.
    has_only_earlier_texts = (
        agreement.n_earlier_error_texts > 0 and agreement.n_later_error_texts == 0
    )
    tie = ", as does the other version"
    if has_only_earlier_texts:
        return AUGUST_2025, f"{tie}; the error texts are those before 29 October 2025"
    return NEWEST_RULE_SET, f"{tie}; the newest version is used"


def _compare_with_scores(categories: Sequence[CategoryInputs]) -> Agreement:
    """Compare each scored item with the result that each version of the rules gives."""
    agreement = Agreement()
    for inputs in categories:
        # The versions differ in the rules for normal categories only. Without a header, it is
        # unknown which items were scored.
        if not inputs.category.startswith("normal") or not inputs.scored.header:
            continue
        for item in _list_scored_items(inputs):
            agreement.add([rule_set for rule_set in RULE_SETS if item.agrees_with(rule_set)])
            if item.has_later_error_text:
                agreement.n_later_error_texts += 1
            if item.has_earlier_error_text:
                agreement.n_earlier_error_texts += 1
    return agreement


def _list_scored_items(inputs: CategoryInputs) -> Iterator[_ScoredItem]:
    """Yield the items of a category that have an official verdict on the reply in the result file.

    A score file lists only failing items. An item without an entry passed, but only if the file
    counted as many items as there are results; else it may not have been scored.
    """
    n_results = sum(1 for _ in inputs.results.read_answers())
    are_all_scored = inputs.scored.header.get("total_count") == n_results
    for record in inputs.results.read_answers():
        item_id = record["id"]
        entry = inputs.scored.entries.get(item_id)
        is_scored = entry is not None or are_all_scored
        if is_scored and item_id not in inputs.ids_with_other_reply:
            yield _ScoredItem(inputs, id=item_id, reply=record.get("result"), entry=entry)


@dataclass(frozen=True, slots=True)
class _ScoredItem:
    inputs: CategoryInputs
    id: str
    reply: Any
    entry: JsonObject | None
    """The entry of the score file; None if the item passed."""

    def agrees_with(self, rule_set: RuleSet) -> bool:
        """Whether a version of the evaluator's rules can have produced the score entry.

        That is its verdict, its error type, its error text and the reply that it quotes.
        """
        # The item passed.
        if self.entry is None:
            return self._find_failure(rule_set) is None
        if rule_set == AUGUST_2025 and self.has_later_error_text:
            return False
        if not self._is_quoted_by(rule_set):
            return False
        return self._find_failure(rule_set) == self.entry.get("error_type")

    @property
    def has_later_error_text(self) -> bool:
        """Whether the text of an error with several golden calls is the one since 29 October
        2025.
        """
        texts = as_list((self.entry or {}).get("error"))
        return any(isinstance(text, str) and text.startswith(PARALLEL_ERROR) for text in texts)

    @property
    def has_earlier_error_text(self) -> bool:
        """Whether the text of an error with several golden calls is the one before 29 October
        2025.
        """
        if self.entry is None or self.has_later_error_text:
            return False
        if self.entry.get("error_type") in COUNT_ERRORS:
            return False
        golden_calls = as_object(self._get_first_golden_answer())
        return len(golden_calls) > 1

    def _is_quoted_by(self, rule_set: RuleSet) -> bool:
        """Whether the entry quotes the text that this version decodes.

        True if no version decodes the quoted text.
        """
        if self.entry is None or not isinstance(self.reply, str):
            return True
        category = self.inputs.category
        quoted = find_quoted_reply(self.entry, category)
        if quoted == select_decoded_text(self.reply, category, rule_set):
            return True
        return not any(
            quoted == select_decoded_text(self.reply, category, other) for other in RULE_SETS
        )

    def _find_failure(self, rule_set: RuleSet) -> str | None:
        """Check the reply by a version of the evaluator's rules. Return the error type of the first
        failure, or None if the reply passes.
        """
        try:
            calls = decode_reply(self.reply, self.inputs.category, rule_set)
        except Undecodable:
            return WRONG_FORMAT

        golden = self.inputs.get_golden_answer(self.id)
        has_dataset_record = golden is not None and self.id in self.inputs.questions
        if not has_dataset_record:
            # The calls cannot be checked, so the official result is assumed. But the error that the
            # reply cannot be decoded does not hold: this version has decoded it.
            official = (self.entry or {}).get("error_type")
            return None if official == WRONG_FORMAT else official

        answers = self._select_checked_answers(golden)
        try:
            outcome = check_calls(calls, answers, self.inputs.get_function_docs(self.id))
        except MALFORMED_DATA:
            # A damaged golden answer cannot tell the versions apart.
            return None
        return None if outcome.valid else outcome.error_type

    def _select_checked_answers(self, golden: Any) -> Any:
        """Return the golden answers that decide whether the score file lists the item.

        In single-turn categories, the evaluator also lists an item that fails the first golden
        answer and passes a later one.
        """
        if self.inputs.category in MULTI_TURN_CATEGORIES:
            return golden
        return self._get_first_golden_answer()

    def _get_first_golden_answer(self) -> Any:
        golden = self.inputs.get_golden_answer(self.id)
        if isinstance(golden, list) and golden:
            return golden[0]
        return golden


def compare_quoted_replies(categories: Sequence[CategoryInputs]) -> QuotedReplies:
    """Compare the replies that score and process entries quote with those in the result files."""
    quoted_replies = QuotedReplies()
    for inputs in categories:
        if inputs.category.startswith("agent_"):
            _compare_quoted_processes(inputs, quoted_replies)
        else:
            _compare_quoted_texts(inputs, quoted_replies)
        inputs.ids_with_other_reply = quoted_replies.others.get(inputs.category, set())
    return quoted_replies


def _compare_quoted_texts(inputs: CategoryInputs, quoted_replies: QuotedReplies) -> None:
    """Count how many score entries quote another reply than the result file has for the item.

    Different replies show that the scores belong to another run. The counts are added to
    `quoted_replies`.
    """
    for record in inputs.results.read_answers():
        item_id = record["id"]
        entry = inputs.scored.entries.get(item_id)
        if entry is None or not has_quoted_reply(entry):
            continue
        quoted = find_quoted_reply(entry, inputs.category)
        is_same = _is_part_of_reply(quoted, record.get("result"))
        quoted_replies.add(inputs.category, item_id, is_same=is_same)


def has_quoted_reply(entry: JsonObject) -> bool:
    names = ("model_result_raw", "model_result", "model_result_decoded")
    return any(name in entry for name in names)


def find_quoted_reply(entry: JsonObject, category: str) -> Any:
    """Return the reply that a score entry quotes: for normal items, the text that the evaluator
    decoded.
    """
    if category.startswith("special"):
        return entry.get("model_result_decoded")
    if "model_result_raw" in entry:
        return entry["model_result_raw"]
    return entry.get("model_result")


def _is_part_of_reply(quoted: Any, reply: Any) -> bool:
    """Whether a quoted text can come from a reply.

    The evaluator quotes the text that it decoded. That can be a part of the reply, or all of it
    without white space. It quotes null if it found no brackets.
    """
    if not isinstance(reply, str):
        return bool(quoted == reply) or quoted == str(reply)
    if quoted is None:
        return find_first_brackets(reply) is None
    if not isinstance(quoted, str):
        return False
    compact = remove_whitespace(quoted)
    if not compact:
        return not remove_whitespace(reply)
    return compact in remove_whitespace(reply)


def _compare_quoted_processes(inputs: CategoryInputs, quoted_replies: QuotedReplies) -> None:
    """Compare the messages of agents that a process file quotes with those in the result file."""
    if not inputs.process_entries:
        return
    for record in inputs.results.read_answers():
        item_id = record["id"]
        name = f"{inputs.category}_{inputs.get_dataset_position(item_id)}"
        quoted = inputs.process_entries.get(name, {}).get("model_output")
        if quoted is not None:
            quoted_replies.add(inputs.category, item_id, is_same=quoted == record.get("process"))
