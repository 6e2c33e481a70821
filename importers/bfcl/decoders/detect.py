"""Which decoder reads the replies of a model that the table does not know: what its own files tell.

A failing score entry quotes the reply and says whether the official program could read it; the decoder that does alike
is likely the model's. Without scores it is the one that finds calls in most replies.

Which decoder reads a run: the one asked for, that of the table, or, for an unknown model, what its files tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from fcreview.importers.bfcl import filenames, results, scores
from fcreview.importers.bfcl.checker.evaluate import rule_for_category
from fcreview.importers.bfcl.decoders.base import Decoder, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.models import DEFAULT_DECODERS
from fcreview.importers.bfcl.decoders.registry import (
    BY_NAME,
    DECODERS,
    decoder_for_model,
    early_v1_decoder,
    find_decoder,
)
from fcreview.importers.bfcl.discovery import FilesByCategory
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.records import Undecodable
from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan

Outcome = Literal["calls", "nothing", "failed", "odd"]
GOOD_SHARE = 0.9
"""Of the replies: a first guess that reads so many is not compared with all others."""
OUTCOME_BY_ERROR: dict[str, Outcome] = {
    "ast_decoder:decoder_failed": "failed",
    "ast_decoder:decoder_wrong_output_format": "odd",
}


@dataclass(frozen=True, slots=True)
class DecoderChoice:
    """A decoder, and in how many of the replies it finds calls."""

    decoder: Decoder
    n_with_calls: int
    n_replies: int


def choose_decoder(
    guess: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: DecoderContext
) -> DecoderChoice:
    """The decoder of a model that nobody knows. `guess` is kept unless another does clearly better; where it is AUTO
    and one decoder does as well, it is that one.

    `replies` are `result`s, `scored` replies with the error types of their score entries.
    """
    native = bool(replies) and type(replies[0]) is list
    usual = [BY_NAME[name] for name in (("FC", "LIST") if native else (DEFAULT_DECODERS[how.version],))]
    best = _DecoderScore.measure(guess, replies, scored, how)
    if best.n_with_calls < GOOD_SHARE * len(replies) or best.n_agreements < len(scored):
        named = [find_decoder(decoder.name, how.version) or decoder for decoder in DECODERS]
        for decoder in (*usual, *named):  # of those that do as well, the first
            other = _DecoderScore.measure(decoder, replies, scored, how)
            if other.is_better_than(best, twice=best.decoder is guess):
                best = other
    if best.decoder.name == "AUTO":
        alternatives = [_DecoderScore.measure(decoder, replies, scored, how) for decoder in usual]
        best = next(
            (
                one
                for one in alternatives
                if (one.n_agreements, one.n_with_calls) == (best.n_agreements, best.n_with_calls)
            ),
            best,
        )
    decoder = best.decoder
    if guess.name_spelling == "either" and decoder.name_spelling == "flat":
        decoder = replace(decoder, name_spelling="either")
    return DecoderChoice(decoder, best.n_with_calls, len(replies))


@dataclass(frozen=True, slots=True)
class _DecoderScore:
    decoder: Decoder
    n_agreements: int
    """Scored replies of which it makes what the official program made."""
    n_with_calls: int
    """Replies in which it finds calls."""

    @staticmethod
    def measure(
        decoder: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: DecoderContext
    ) -> _DecoderScore:
        alike = sum(_is_expected_outcome(decoding_outcome(decoder, reply, how), error) for reply, error in scored)
        return _DecoderScore(decoder, alike, sum(decoding_outcome(decoder, reply, how) == "calls" for reply in replies))

    def is_better_than(self, other: _DecoderScore, *, twice: bool) -> bool:
        return self.n_agreements > other.n_agreements or (
            self.n_agreements == other.n_agreements
            and self.n_with_calls > (2 * other.n_with_calls if twice else other.n_with_calls)
        )


def _is_expected_outcome(found: Outcome, error: str) -> bool:
    expected = OUTCOME_BY_ERROR.get(error)
    return found == expected if expected else found in ("calls", "nothing")


def decoding_outcome(decoder: Decoder, reply: Any, how: DecoderContext) -> Outcome:
    try:
        return "calls" if decoder.decode(reply, how) else "nothing"
    except WrongFormat:
        return "odd"
    except (Undecodable, RecursionError, MemoryError):
        return "failed"


MAX_CATEGORIES, MAX_RECORDS = 4, 50
"""How many categories of an unknown model are looked into, and how many records of each."""


def select_decoder(plan: RunPlan) -> tuple[Decoder, list[ImportIssue]]:
    """The decoder of all of a run's replies, and what is to be said of the choice."""
    rules, model = filenames.rules_version(plan.run.generation), plan.run.model
    if plan.decoder:
        found = find_decoder(plan.decoder, rules)
        if found is not None:
            return found, []
        what = f"there is no decoder {plan.decoder!r}: the model's is used"
        return decoder_for_model(model, rules)[0], [ImportIssue(plan.run.path, None, what)]
    guess, known = decoder_for_model(model, rules)
    if known:
        return guess, []
    replies, scored = _sample_replies(plan.private, rules)
    if not replies and not scored:
        return guess, []
    choice = choose_decoder(guess, replies, scored, DecoderContext(rules))
    issues = []
    if choice.decoder.name not in (guess.name, "FC", "LIST", "PROMPT", "BRACKET"):
        what = (
            f"no table is sure of the model {model}: its replies are read by the decoder {choice.decoder.name}, which "
            f"finds calls in {choice.n_with_calls} of {choice.n_replies}; --decoder NAME chooses another"
        )
        issues.append(ImportIssue(plan.run.path, None, what, severity="notice"))
    return choice.decoder, issues


def _sample_replies(categories: FilesByCategory, rules: str) -> tuple[list[Any], list[tuple[Any, str]]]:
    """Replies, and scored replies with their error types, of the first categories that are about Python calls."""
    replies: list[Any] = []
    scored: list[tuple[Any, str]] = []
    calling = [name for name in categories if _has_python_calls(name, rules)][:MAX_CATEGORIES]
    for name in calling:
        replies += [value["result"] for value in _first_records(categories[name].results) if "result" in value]
        for value in _first_records(categories[name].scores):
            error = scores.error_type(value)
            if error is not None and "model_result_raw" in value:
                scored.append((value["model_result_raw"], error))
    return replies, scored


def _has_python_calls(category: str, rules: str) -> bool:
    kind, _ = rule_for_category(category, rules == "V1")
    return kind in ("simple", "multiple", "parallel") and "java" not in category and category != "format_sensitivity"


def _first_records(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    found = (one.value for path in paths for one in records(path) if isinstance(one, Record))
    yield from islice((value for value in found if isinstance(value, dict)), MAX_RECORDS)


def select_category_decoder(
    category: str, decoder: Decoder, found: results.Results, scored: scores.ScoreFile | None, file: Path
) -> Decoder:
    """The decoder of one category: V1's native ones turned the arguments of Java and JavaScript calls into text until
    the middle of July 2024. What the scores say of arguments that are no text decides; only where they say nothing do
    the folders: the first results lie in `result-BFCL`, later ones in folders named by a later date."""
    before = early_v1_decoder(decoder, "V1")
    if before is decoder or category not in ("java", "javascript"):
        return decoder
    as_text = native = 0
    for item in found.records if scored is not None and scored.is_complete else ():
        record = found.read_record(item)
        if not _has_non_string_argument(decoder, record.get("result") if isinstance(record, dict) else None, category):
            continue
        entry = scored.failing.get(item) if scored is not None else None
        error = scores.error_type(entry.record) if entry is not None else None
        if error in ("type_error:java", "type_error:js"):
            native += 1
        elif entry is None or (error or "").startswith(("type_error", "value_error")):
            as_text += 1
    if as_text == native:
        return before if filenames.is_early_v1_file(file) else decoder
    return before if as_text > native else decoder


def _has_non_string_argument(decoder: Decoder, result: Any, language: str) -> bool:
    """Whether a reply has just one call, with an argument that is no text."""
    try:
        calls = decoder.decode(result, DecoderContext("V1", language))
    except (ValueError, RecursionError, MemoryError):
        return False
    return len(calls) == 1 and any(type(value) is not str for value in calls[0][1].values())
