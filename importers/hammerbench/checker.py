"""Parse HammerBench predictions, check snapshots by the rules of the released evaluator, and read
recorded verdicts.

The files next to `MT_res.json` contain recorded verdicts: `badcase.csv` those of the evaluator, and
other files the replies and flags of a judge. There are four parsers of predictions. As in the
evaluator, the path of the log determines the parser.

Texts are compared by ROUGE-L as in the PyPI package `rouge` 1.0.1 (summary level), which the
evaluator uses. Equal texts score 0.999999995 instead of 1, and a full stop inside a number splits
it into two sentences. The package fails for texts of about a thousand words, and the evaluator
scores them 0. fcreview compares such texts like all others.

Source of the rules: the released `evaluate.py` and `utils` (March 2025).
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import make_excerpt
from fcreview.importers.common.records import as_list, as_object
from fcreview.importers.hammerbench.discovery import (
    BADCASE_FILE,
    JUDGE_FLAGS_FILE,
    JUDGE_REPLIES_FILE,
)
from fcreview.model.item import ImportIssue, Item, Verdict
from fcreview.model.verdict import SAME_NAMES_KEY

ParsedCall = dict[str, Any]
"""A call `{"name": str, "arguments": {...}}`.

The optional key `"blank"` lists arguments that were removed as empty.
"""


def choose_parser_name(log_path: str) -> str:
    """Return `ministral`, `xlam` or `toolace` if the path of the log contains it, else
    `default`.
    """
    lower_path = log_path.lower()
    return next(
        (name for name in ("ministral", "xlam", "toolace") if name in lower_path), "default"
    )


def parse_prediction(prediction: Any, parser_name: str = "default") -> ParsedCall | None:
    """Return the call in a prediction, or None for text without a call.

    An object with a name already is a call.
    """
    if isinstance(prediction, dict):
        return prediction if isinstance(prediction.get("name"), str) else None
    if not isinstance(prediction, str):
        return None
    parsers = {
        "ministral": _parse_ministral_reply,
        "xlam": _parse_xlam_reply,
        "toolace": _parse_toolace_reply,
    }
    try:
        return parsers.get(parser_name, _parse_default_reply)(prediction)
    except (ValueError, RecursionError, MemoryError):
        return None


def _parse_default_reply(text: str) -> ParsedCall | None:
    json_object = _parse_json_object(text.strip())
    if json_object is not None and "name" in json_object and "parameters" in json_object:
        return _make_parsed_call(json_object)
    pattern = r"```json(.*?)(?:```|\Z)" if "```json" in text else r'\{"name".*'
    stripped = [block.strip() for block in re.findall(pattern, text, re.DOTALL) if block.strip()]
    calls = [
        _parse_json_object(block) or _parse_json_object(block.split("\n")[-1]) for block in stripped
    ]
    return (
        _make_parsed_call(calls[0])
        if calls and calls[0] is not None and None not in calls
        else None
    )


def _parse_json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _make_parsed_call(json_call: dict[str, Any]) -> ParsedCall | None:
    name, arguments = json_call.get("name"), json_call.get("arguments")
    if name is None:
        return None
    arguments = arguments if isinstance(arguments, dict) else as_object(json_call.get("parameters"))
    blank = [
        key
        for key, argument in arguments.items()
        if isinstance(argument, str) and argument in ("", "\\")
    ]
    nonblank = {key: argument for key, argument in arguments.items() if key not in blank}
    return {"name": name, "arguments": nonblank} | ({"blank": blank} if blank else {})


def _parse_ministral_reply(text: str) -> ParsedCall | None:
    _, bracket, rest = text.partition("[TOOL_CALLS]")[2].partition("[")
    return _parse_first_listed_call(bracket + rest)


def _parse_xlam_reply(text: str) -> ParsedCall | None:
    _, bracket, rest = text.partition('"tool_calls":')[2].split("\n")[0].rpartition("[")
    return _parse_first_listed_call(bracket + rest) if bracket else None


def _parse_first_listed_call(json_list: str) -> ParsedCall | None:
    end = json_list.find("]")
    value = json.loads(json_list[: end + 1]) if end >= 0 else None
    return (
        _make_parsed_call(value[0])
        if isinstance(value, list) and value and isinstance(value[0], dict)
        else None
    )


def _parse_toolace_reply(text: str) -> ParsedCall | None:
    text = text.strip("[]'")
    if len(text) > 100_000:
        return None
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(tree, ast.Call):
        return None
    name = ast.unparse(tree.func)
    return {
        "name": name,
        "arguments": {word.arg: ast.literal_eval(word.value) for word in tree.keywords if word.arg},
    }


def compute_rouge_l(prediction: str, golden: str, language: str) -> float:
    """Compute the F value of ROUGE-L for two texts, from 0 to 1. It is 0 if a text is blank."""
    hypothesis, reference = _normalize_text(prediction, language), _normalize_text(golden, language)
    if not hypothesis.strip() or not reference.strip():
        return 0.0
    predicted_sentences, golden_sentences = (
        _split_sentences(hypothesis),
        _split_sentences(reference),
    )
    return (
        _compute_rouge_f(predicted_sentences, golden_sentences)
        if predicted_sentences and golden_sentences
        else 0.0
    )


def _normalize_text(text: str, language: str) -> str:
    if language == "zh":
        text = text.strip("。！ ")
        return re.sub(r"([\u4e00-\u9fff])", r" \1 ", text)
    return text.strip(".?! ").lower()


def _split_sentences(text: str) -> list[list[str]]:
    """Split a text at full stops into sentences, and each sentence into words.

    A sentence that consists of spaces has one empty word.
    """
    return [part.split() or [""] for part in text.split(".") if part]


def _compute_rouge_f(
    predicted_sentences: Sequence[list[str]], golden_sentences: Sequence[list[str]]
) -> float:
    """Compute the F value over distinct words.

    A word counts once, even if several pairs of sentences share it.
    """
    golden_words = {word for sentence in golden_sentences for word in sentence}
    predicted_words = {word for sentence in predicted_sentences for word in sentence}
    hits = {
        word
        for reference in golden_sentences
        for hypothesis in predicted_sentences
        for word in _longest_common_subsequence(reference, hypothesis)
    }
    recall, precision = len(hits) / len(golden_words), len(hits) / len(predicted_words)
    return 2.0 * precision * recall / (precision + recall + 1e-8)


def _longest_common_subsequence(x: list[str], y: list[str]) -> list[str]:
    """Return the longest common subsequence of two lists of words.

    If there are several, the result is that of the package `rouge`. It goes back from the ends of
    both lists, and skips a word of `x` only if skipping a word of `y` instead would give a shorter
    subsequence.
    """
    lengths = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i, a in enumerate(x, 1):
        row, above = lengths[i], lengths[i - 1]
        for j, b in enumerate(y, 1):
            row[j] = above[j - 1] + 1 if a == b else max(above[j], row[j - 1])
    i, j, common = len(x), len(y), []
    while i and j:
        if x[i - 1] == y[j - 1]:
            common.append(x[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return common[::-1]


MIN_SIMILARITY = 0.7
"""Minimum ROUGE-L of each argument for which the arguments count as correct."""


@dataclass(slots=True)
class SnapshotCheck:
    """Result of the rules for one snapshot. The fields have the names of the criteria."""

    is_text: bool
    """Whether the prediction contains no call."""
    func_ok: bool
    """Whether the function name is the golden one."""
    args_ok: bool
    """Whether the arguments are equal or similar enough. The function name does not matter."""
    rejected: bool
    """Whether `func_ok` is false and the prediction contains "sorry"."""
    hallucinated: list[str]
    """Names of the predicted arguments that the golden call does not have."""
    missing: list[str]
    """Names of the golden arguments that the prediction does not have."""
    lowest_similarity: float | None = None
    """Lowest similarity of an argument, from 0 to 1, or None if the check needed no
    similarities.
    """
    lowest_argument: str | None = None
    """Name of the argument with the lowest similarity."""


def check_snapshot(
    predicted_call: ParsedCall | None, prediction: Any, label: Any, language: str
) -> SnapshotCheck:
    """Check the prediction of a snapshot against its label.

    Args:
        predicted_call: the parsed call, or None if the prediction is text. prediction: the
        prediction as logged. label: the golden call, or the expected refusal as text. With a
        refusal, only `is_text` and `rejected` can be
            true.
        language: `en` or `zh`.
    """
    golden_arguments = as_object(as_object(label).get("arguments"))
    name_ok = (
        predicted_call is not None
        and isinstance(label, dict)
        and predicted_call.get("name") == label.get("name")
    )
    rejected = (
        not name_ok
        and "sorry" in (prediction if isinstance(prediction, str) else str(prediction)).lower()
    )
    if predicted_call is None or not isinstance(label, dict):
        return SnapshotCheck(
            predicted_call is None,
            func_ok=False,
            args_ok=False,
            rejected=rejected,
            hallucinated=[],
            missing=list(golden_arguments),
        )
    predicted_arguments = as_object(predicted_call.get("arguments"))
    hallucinated = [key for key in predicted_arguments if key not in golden_arguments]
    missing = [key for key in golden_arguments if key not in predicted_arguments]
    compared = compare_arguments(predicted_call.get("arguments"), golden_arguments, language)
    return SnapshotCheck(
        False, name_ok, compared[0], rejected, hallucinated, missing, *compared[1:]
    )


class ArgumentComparison(NamedTuple):
    args_ok: bool
    """Whether the arguments are equal or similar enough."""
    lowest_similarity: float | None = None
    """Lowest similarity of an argument, from 0 to 1, or None if no similarity was computed."""
    lowest_argument: str | None = None
    """Name of the argument with the lowest similarity."""


def compare_arguments(predicted: Any, golden: dict[str, Any], language: str) -> ArgumentComparison:
    if not isinstance(predicted, dict):
        return ArgumentComparison(False)
    predicted_texts = {key: str(value) for key, value in predicted.items() if value != ""}
    golden_texts = {key: str(value) for key, value in golden.items() if value != ""}
    if any(key not in golden_texts for key in predicted_texts):
        return ArgumentComparison(False)
    if golden_texts.pop("kwargs", None) is not None:
        predicted_texts.pop("kwargs", None)
    if predicted_texts == golden_texts:
        return ArgumentComparison(True)
    scores = {
        key: compute_rouge_l(predicted_texts[key], golden_text, language)
        if key in predicted_texts
        else 0.0
        for key, golden_text in golden_texts.items()
    }
    if not scores:
        return ArgumentComparison(False)
    lowest_argument = min(scores, key=scores.__getitem__)
    lowest = scores[lowest_argument]
    return ArgumentComparison(
        lowest >= MIN_SIMILARITY, lowest_similarity=lowest, lowest_argument=lowest_argument
    )


class ConversationFlags(NamedTuple):
    """Verdicts on a conversation, from its row in `badcase.csv`."""

    name_ok: bool
    """Whether the first predicted call has the name of the golden function."""
    arguments: list[bool]
    """Whether the arguments of each snapshot are correct."""


@dataclass(slots=True)
class CompanionVerdicts:
    """Verdicts from the files next to `MT_res.json`, by conversation and snapshot."""

    scores: list[ConversationFlags] = field(default_factory=list)
    """The evaluator's verdicts on each conversation."""
    replies: list[list[str]] = field(default_factory=list)
    """One list per conversation: the judge's reply on each snapshot."""
    flags: list[list[bool]] = field(default_factory=list)
    """One list per conversation: for each snapshot, whether the judge accepts its arguments."""

    def add_verdicts(self, item: Item, conversation_index: int, snapshot_index: int) -> None:
        """Add the official verdict and the judge verdicts on a snapshot to its item."""
        if conversation_index < len(self.scores):
            name_ok, flags = self.scores[conversation_index]
            if snapshot_index < len(flags):
                item.official = name_ok and flags[snapshot_index]
                item.verdicts.insert(0, Verdict("official", item.official, by=BADCASE_FILE))
                by = f"{BADCASE_FILE}, first snapshot"
                item.verdicts.append(Verdict("official", name_ok, criterion="func_ok", by=by))
                item.verdicts.append(
                    Verdict("official", flags[snapshot_index], criterion="args_ok", by=BADCASE_FILE)
                )
        judge_reply = get_snapshot_value(self.replies, conversation_index, snapshot_index)
        judge_flag = get_snapshot_value(self.flags, conversation_index, snapshot_index)
        if judge_flag is None and judge_reply is not None:
            judge_flag = "True" in judge_reply
        if judge_flag is not None:
            same_names = item.extra.metadata[SAME_NAMES_KEY] = (
                _has_golden_function_and_argument_names(item)
            )
            rationale, by = (
                judge_reply.strip() if judge_reply is not None else None,
                "recorded judge",
            )
            if same_names and rationale is not None and not _states_flag(rationale):
                _add_failed_judge_verdicts(item, rationale, by)
                return
            item.judge = bool(judge_flag) and same_names
            item.verdicts += [
                Verdict("judge", item.judge, rationale=rationale, by=by),
                Verdict("judge", item.judge, criterion="args_ok_llm", by=by),
                Verdict(
                    "judge",
                    bool(judge_flag),
                    target="item",
                    criterion="equivalent",
                    error_type=None,
                    rationale=rationale,
                    by=f"{by}, as replied",
                ),
            ]


def _states_flag(judge_reply: str) -> bool:
    """Return whether a judge's reply contains one of the two words that it should answer with."""
    return "True" in judge_reply or "False" in judge_reply


def _add_failed_judge_verdicts(item: Item, judge_reply: str, by: str) -> None:
    """Add verdicts without a value for a reply that cannot be read. The evaluator counts such a
    reply as False.

    A reply about a call with other names is not read at all, because the names alone decide.
    """
    failure = f"the judge's reply is neither True nor False: {make_excerpt(judge_reply)}"
    add_failed_verdict(item, "judge", failure=failure, by=by)
    add_failed_verdict(item, "judge", failure=failure, by=by, criterion="args_ok_llm")
    add_failed_verdict(
        item, "judge", failure=failure, by=f"{by}, as replied", criterion="equivalent"
    )


def _has_golden_function_and_argument_names(item: Item) -> bool:
    """Return whether the function and argument names are the golden ones.

    If not, the evaluator ignores the judge.
    """
    if not item.golden or not item.predicted or item.predicted[0].arguments is None:
        return False
    golden, predicted = item.golden[0], item.predicted[0]
    return (
        golden.name == predicted.name
        and (golden.arguments or {}).keys() == (predicted.arguments or {}).keys()
    )


def get_snapshot_value(
    values_by_conversation: list[list[Any]], conversation_index: int, snapshot_index: int
) -> Any:
    """Return the value of a snapshot, or None without one."""
    values = (
        values_by_conversation[conversation_index]
        if conversation_index < len(values_by_conversation)
        else []
    )
    return values[snapshot_index] if snapshot_index < len(values) else None


def count_snapshots(conversation_result: Any) -> int:
    return len(as_list(as_object(conversation_result).get("FC_res")))


def load_companion_verdicts(
    folder: Path, conversation_results: list[Any], issues: list[ImportIssue]
) -> CompanionVerdicts:
    """Load the files next to `MT_res.json`.

    A file that does not match its conversations is ignored with an issue.
    """
    companions = CompanionVerdicts()
    snapshot_counts = [count_snapshots(entry) for entry in conversation_results]
    names = (BADCASE_FILE, JUDGE_FLAGS_FILE, JUDGE_REPLIES_FILE, "LLM_check_L.json")
    badcase_file, flags_file, replies_file, offsets_file = (folder / name for name in names)
    if badcase_file.is_file():
        companions.scores = _load_badcase_flags(badcase_file, snapshot_counts, issues)
    if flags_file.is_file():
        companions.flags = list(map(as_list, read_json(flags_file, issues, list) or []))
    if replies_file.is_file() and offsets_file.is_file():
        replies = read_json(replies_file, issues, list) or []
        offsets = read_json(offsets_file, issues, list) or []
        ranges = pairwise(int(offset) for offset in offsets if isinstance(offset, int))
        companions.replies = [[str(reply) for reply in replies[start:end]] for start, end in ranges]
        if [len(row) for row in companions.replies] != snapshot_counts:
            companions.replies = []
            text = (
                "the judge's replies do not match the snapshots. Only turn_flags_res.json is used."
            )
            issues.append(ImportIssue(str(replies_file), None, what=text))
    return companions


def _load_badcase_flags(
    badcase_file: Path, snapshot_counts: list[int], issues: list[ImportIssue]
) -> list[ConversationFlags]:
    csv.field_size_limit(1 << 27)
    rows: list[ConversationFlags] = []
    try:
        with badcase_file.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                flags = json.loads((row.get("Args") or "[]").lower())
                rows.append(
                    ConversationFlags(row.get("Func Name") == "True", list(map(bool, flags)))
                )
    except (OSError, csv.Error, ValueError) as error:
        issues.append(
            ImportIssue(
                str(badcase_file),
                len(rows) + 2,
                what=f"the rest of the file cannot be read: {error}",
            )
        )
    if [len(row.arguments) for row in rows] != snapshot_counts:
        what = "the file does not match MT_res.json, so its verdicts were skipped"
        issues.append(ImportIssue(str(badcase_file), None, what=what))
        return []
    return rows
