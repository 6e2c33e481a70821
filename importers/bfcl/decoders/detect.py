"""Choose the decoder for a run: the user's choice, the decoder listed for the model, or the decoder that fits best.

If the model's decoder is not certain, fcreview tries several decoders on the run's replies. A failing score entry
contains the reply and states whether the official program could decode it. fcreview chooses the decoder that agrees
with the most score entries. Without scores, it chooses the decoder that finds calls in the most replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from fcreview.importers.bfcl import filenames, scores
from fcreview.importers.bfcl.checker.evaluate import find_category_rule
from fcreview.importers.bfcl.decoders.base import Decoder, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.registry import (
    DECODERS,
    DECODERS_BY_NAME,
    DEFAULT_DECODERS,
    find_decoder,
    find_model_decoder,
    to_early_v1_decoder,
)
from fcreview.importers.bfcl.discovery import FilesByCategory
from fcreview.importers.bfcl.joining import Results
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import Undecodable
from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan

MAX_CATEGORIES, MAX_RECORDS = 4, 50
"""Maximum number of categories, and of records in each category, that are read to choose a decoder."""
GOOD_SHARE = 0.9
"""Share of replies in which the first guess must find calls. Otherwise, the other decoders are tried."""

NAMED_PARAMETER = re.compile(r"\bparameter '([^']*)'")
"""Matches the name of the parameter in an error message of the official program."""

ScoredReply = tuple[Any, str]
"""(reply, official error type), both from a failing score entry."""
Outcome = Literal["calls", "no calls", "failed", "wrong format"]
OUTCOME_BY_ERROR: dict[str, Outcome] = {
    "ast_decoder:decoder_failed": "failed",
    "ast_decoder:decoder_wrong_output_format": "wrong format",
}


@dataclass(frozen=True, slots=True)
class DecoderScore:
    """How well a decoder fits the replies of a run."""

    decoder: Decoder
    n_agreements: int
    """Number of scored replies for which the decoder has the same outcome as the official program."""
    n_with_calls: int
    """Number of replies in which the decoder finds calls."""

    @staticmethod
    def score(
        decoder: Decoder, replies: Sequence[Any], scored: Sequence[ScoredReply], context: DecoderContext
    ) -> DecoderScore:
        n_agreements = 0
        for reply, error_type in scored:
            outcome = try_decoder(decoder, reply, context)
            expected = OUTCOME_BY_ERROR.get(error_type)
            n_agreements += outcome == expected if expected else outcome in ("calls", "no calls")
        n_with_calls = sum(try_decoder(decoder, reply, context) == "calls" for reply in replies)
        return DecoderScore(decoder, n_agreements, n_with_calls)

    def is_better_than(self, other: DecoderScore, *, call_ratio: int) -> bool:
        """Whether the decoder agrees with more score entries than `other`.

        If both agree with equally many, it must find calls in more than `call_ratio` times as many replies.
        """
        if self.n_agreements != other.n_agreements:
            return self.n_agreements > other.n_agreements
        return self.n_with_calls > call_ratio * other.n_with_calls


def try_decoder(decoder: Decoder, reply: Any, context: DecoderContext) -> Outcome:
    try:
        return "calls" if decoder.decode(reply, context) else "no calls"
    except WrongFormat:
        return "wrong format"
    except (Undecodable, RecursionError, MemoryError):
        return "failed"


def find_best_decoder(
    guess: Decoder, replies: Sequence[Any], scored: Sequence[ScoredReply], context: DecoderContext
) -> DecoderScore:
    """Find the decoder that fits the replies of a run best.

    `guess` is kept unless another decoder is clearly better. If the decoder AUTO, which tries several forms, fits best,
    a common decoder with an equal score is used instead.

    Args:
        replies: `result` values.
        scored: replies in failing score entries, whose error types show whether the official program decoded them.
    """
    score = partial(DecoderScore.score, replies=replies, scored=scored, context=context)
    native = bool(replies) and type(replies[0]) is list
    usual = [DECODERS_BY_NAME[name] for name in (("FC", "LIST") if native else (DEFAULT_DECODERS[context.version],))]
    best = score(guess)
    if best.n_with_calls < GOOD_SHARE * len(replies) or best.n_agreements < len(scored):
        others = [find_decoder(decoder.name, context.version) or decoder for decoder in DECODERS]
        for other in map(score, (*usual, *others)):  # the first of equally good decoders is chosen
            if other.is_better_than(best, call_ratio=2 if best.decoder is guess else 1):
                best = other
    if best.decoder.name == "AUTO":
        counts = best.n_agreements, best.n_with_calls
        best = next((each for each in map(score, usual) if (each.n_agreements, each.n_with_calls) == counts), best)
    if guess.name_spelling == "either" and best.decoder.name_spelling == "flat":
        return replace(best, decoder=replace(best.decoder, name_spelling="either"))
    return best


def select_run_decoder(plan: RunPlan) -> tuple[Decoder, list[ImportIssue]]:
    """Return the decoder for a run, and an issue if the choice is unusual."""
    version, model = filenames.get_rules_version(plan.run.generation), plan.run.model
    guess, is_certain = find_model_decoder(model, version)
    chosen = plan.options.get("decoder")
    if chosen:
        named = find_decoder(chosen, version)
        if named is not None:
            return named, []
        what = f"there is no decoder {chosen!r}. Using {guess.name}, the decoder of the model"
        return guess, [ImportIssue(plan.run.path, None, what)]
    if is_certain:
        return guess, []
    replies, scored = _sample_replies(plan.importer_data, version)
    if not replies and not scored:
        return guess, []
    best = find_best_decoder(guess, replies, scored, DecoderContext(version))
    if best.decoder.name in (guess.name, "FC", "LIST", "PROMPT", "BRACKET"):
        return best.decoder, []
    what = f"the decoder of model {model} is not certain; using {best.decoder.name}, which finds calls in "
    what += f"{best.n_with_calls} of {len(replies)} replies. Use --decoder NAME to choose another"
    return best.decoder, [ImportIssue(plan.run.path, None, what, severity="notice")]


def _sample_replies(categories: FilesByCategory, version: str) -> tuple[list[Any], list[ScoredReply]]:
    """Return replies, and (reply, error type) of score entries, from the first categories with Python calls."""
    replies: list[Any] = []
    scored: list[ScoredReply] = []
    for name in [name for name in categories if _has_python_calls(name, version)][:MAX_CATEGORIES]:
        replies += [value["result"] for value in _read_first_records(categories[name].results) if "result" in value]
        entries = [value for value in _read_first_records(categories[name].scores) if "model_result_raw" in value]
        scored += [(each["model_result_raw"], error) for each in entries if (error := scores.read_error_type(each))]
    return replies, scored


def _has_python_calls(category: str, version: str) -> bool:
    rule, _ = find_category_rule(category, version == "V1")
    return rule in ("simple", "multiple", "parallel") and "java" not in category and category != "format_sensitivity"


def _read_first_records(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    found = (each.value for path in paths for each in read_records(path) if isinstance(each, JsonRecord))
    yield from islice((value for value in found if isinstance(value, dict)), MAX_RECORDS)


def select_category_decoder(
    version: str, category: str, decoder: Decoder, results: Results, score_file: scores.ScoreFile
) -> Decoder:
    """Return the decoder for one category of a run: `decoder`, or its form from before the middle of July 2024.

    Until then, V1's native decoders stringified the arguments of Java and JavaScript calls. The official verdicts on
    calls with non-string arguments show which form was used. Without such verdicts, the folder names decide.
    """
    early = to_early_v1_decoder(decoder, version)
    if early is decoder or category not in ("java", "javascript"):
        return decoder
    n_stringified = n_native = 0
    if score_file.is_complete:
        for item_id in results.records:
            record = results.read_record(item_id)
            result = record.get("result") if isinstance(record, dict) else None
            entry = score_file.failing.get(item_id)
            stringified = _has_stringified_arguments(_decode_single_call_arguments(decoder, result, category), entry)
            n_stringified += stringified is True
            n_native += stringified is False
    if n_stringified == n_native:
        path = next((path for path, _ in results.records.values()), score_file.path)
        return early if filenames.is_early_v1_file(path) else decoder
    return early if n_stringified > n_native else decoder


def _decode_single_call_arguments(decoder: Decoder, result: Any, language: str) -> dict[str, Any]:
    """Return the arguments of a reply's only call. Empty if the reply cannot be decoded or has several calls."""
    try:
        calls = decoder.decode(result, DecoderContext("V1", language))
    except (ValueError, RecursionError, MemoryError):
        return {}
    return calls[0][1] if len(calls) == 1 else {}


def _has_stringified_arguments(arguments: dict[str, Any], entry: scores.ScoreEntry | None) -> bool | None:
    """Whether the official program stringified the arguments of a call before it checked them; None if unknown.

    It checks the arguments in order and stops at the first error, so an error at an argument before the first
    non-string one gives no information. `entry` is None for a call that passed.
    """
    position = next((n for n, value in enumerate(arguments.values()) if type(value) is not str), None)
    if position is None:
        return None
    if entry is None:
        return True
    error_type = scores.read_error_type(entry.record) or ""
    if error_type in ("type_error:java", "type_error:js"):
        return False
    named = NAMED_PARAMETER.search(scores.read_rationale(entry.record) or "")
    if named is None or not error_type.startswith(("type_error", "value_error")):
        return None
    return True if named[1] in list(arguments)[position:] else None
