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
from fcreview.importers.bfcl.checker.evaluate import kind_of
from fcreview.importers.bfcl.decoders.base import Decoder, How, WrongFormat
from fcreview.importers.bfcl.decoders.models import OTHERWISE
from fcreview.importers.bfcl.decoders.registry import BY_NAME, DECODERS, asked_for, decoder_of, early
from fcreview.importers.bfcl.discovery import Categories
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.common.records import Undecodable
from fcreview.model.item import ImportIssue
from fcreview.run_plan import RunPlan

Outcome = Literal["calls", "nothing", "failed", "odd"]
ENOUGH = 0.9
"""Of the replies: a first guess that reads so many is not compared with all others."""
BY_ERROR: dict[str, Outcome] = {
    "ast_decoder:decoder_failed": "failed",
    "ast_decoder:decoder_wrong_output_format": "odd",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A decoder, and in how many of the replies it finds calls."""

    decoder: Decoder
    read: int
    of: int


def choose(guess: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: How) -> Choice:
    """The decoder of a model that nobody knows. `guess` is kept unless another does clearly better; where it is AUTO
    and one decoder does as well, it is that one.

    `replies` are `result`s, `scored` replies with the error types of their score entries.
    """
    native = bool(replies) and type(replies[0]) is list
    usual = [BY_NAME[name] for name in (("FC", "LIST") if native else (OTHERWISE[how.rules],))]
    best = _Measured.of(guess, replies, scored, how)
    if best.read < ENOUGH * len(replies) or best.alike < len(scored):
        named = [asked_for(decoder.name, how.rules) or decoder for decoder in DECODERS]
        for decoder in (*usual, *named):  # of those that do as well, the first
            other = _Measured.of(decoder, replies, scored, how)
            if other.better_than(best, twice=best.decoder is guess):
                best = other
    if best.decoder.name == "AUTO":
        alternatives = [_Measured.of(decoder, replies, scored, how) for decoder in usual]
        best = next((one for one in alternatives if (one.alike, one.read) == (best.alike, best.read)), best)
    decoder = best.decoder
    if guess.names == "either" and decoder.names == "flat":
        decoder = replace(decoder, names="either")
    return Choice(decoder, best.read, len(replies))


@dataclass(frozen=True, slots=True)
class _Measured:
    decoder: Decoder
    alike: int
    """Scored replies of which it makes what the official program made."""
    read: int
    """Replies in which it finds calls."""

    @staticmethod
    def of(decoder: Decoder, replies: Sequence[Any], scored: Sequence[tuple[Any, str]], how: How) -> _Measured:
        alike = sum(_alike(outcome(decoder, reply, how), error) for reply, error in scored)
        return _Measured(decoder, alike, sum(outcome(decoder, reply, how) == "calls" for reply in replies))

    def better_than(self, other: _Measured, *, twice: bool) -> bool:
        return self.alike > other.alike or (
            self.alike == other.alike and self.read > (2 * other.read if twice else other.read)
        )


def _alike(found: Outcome, error: str) -> bool:
    expected = BY_ERROR.get(error)
    return found == expected if expected else found in ("calls", "nothing")


def outcome(decoder: Decoder, reply: Any, how: How) -> Outcome:
    try:
        return "calls" if decoder.read(reply, how) else "nothing"
    except WrongFormat:
        return "odd"
    except (Undecodable, RecursionError, MemoryError):
        return "failed"


CATEGORIES, SAMPLE = 4, 50
"""How many categories of an unknown model are looked into, and how many records of each."""


def decoder_for(plan: RunPlan) -> tuple[Decoder, list[ImportIssue]]:
    """The decoder of all of a run's replies, and what is to be said of the choice."""
    rules, model = filenames.rules_of(plan.run.generation), plan.run.model
    if plan.decoder:
        found = asked_for(plan.decoder, rules)
        if found is not None:
            return found, []
        what = f"there is no decoder {plan.decoder!r}: the model's is used"
        return decoder_of(model, rules)[0], [ImportIssue(plan.run.path, None, what)]
    guess, known = decoder_of(model, rules)
    if known:
        return guess, []
    replies, scored = _evidence(plan.private, rules)
    if not replies and not scored:
        return guess, []
    choice = choose(guess, replies, scored, How(rules))
    issues = []
    if choice.decoder.name not in (guess.name, "FC", "LIST", "PROMPT", "BRACKET"):
        what = (
            f"no table is sure of the model {model}: its replies are read by the decoder {choice.decoder.name}, which "
            f"finds calls in {choice.read} of {choice.of}; --decoder NAME chooses another"
        )
        issues.append(ImportIssue(plan.run.path, None, what, severity="notice"))
    return choice.decoder, issues


def _evidence(categories: Categories, rules: str) -> tuple[list[Any], list[tuple[Any, str]]]:
    """Replies, and scored replies with their error types, of the first categories that are about Python calls."""
    replies: list[Any] = []
    scored: list[tuple[Any, str]] = []
    calling = [name for name in categories if _is_calling(name, rules)][:CATEGORIES]
    for name in calling:
        replies += [value["result"] for value in _first(categories[name].results) if "result" in value]
        for value in _first(categories[name].scores):
            error = scores.error_type(value)
            if error is not None and "model_result_raw" in value:
                scored.append((value["model_result_raw"], error))
    return replies, scored


def _is_calling(category: str, rules: str) -> bool:
    kind, _ = kind_of(category, rules == "V1")
    return kind in ("simple", "multiple", "parallel") and "java" not in category and category != "format_sensitivity"


def _first(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    found = (one.value for path in paths for one in records(path) if isinstance(one, Record))
    yield from islice((value for value in found if isinstance(value, dict)), SAMPLE)


def decoder_in(
    category: str, decoder: Decoder, found: results.Results, scored: scores.Scores | None, file: Path
) -> Decoder:
    """The decoder of one category: V1's native ones turned the arguments of Java and JavaScript calls into text until
    the middle of July 2024. What the scores say of arguments that are no text decides; only where they say nothing do
    the folders: the first results lie in `result-BFCL`, later ones in folders named by a later date."""
    before = early(decoder, "V1")
    if before is decoder or category not in ("java", "javascript"):
        return decoder
    as_text = native = 0
    for item in found.found if scored is not None and scored.whole else ():
        record = found.value(item)
        if not _has_no_text(decoder, record.get("result") if isinstance(record, dict) else None, category):
            continue
        entry = scored.failing.get(item) if scored is not None else None
        error = scores.error_type(entry.record) if entry is not None else None
        if error in ("type_error:java", "type_error:js"):
            native += 1
        elif entry is None or (error or "").startswith(("type_error", "value_error")):
            as_text += 1
    if as_text == native:
        return before if filenames.is_early(file) else decoder
    return before if as_text > native else decoder


def _has_no_text(decoder: Decoder, result: Any, language: str) -> bool:
    """Whether a reply has just one call, with an argument that is no text."""
    try:
        calls = decoder.read(result, How("V1", language))
    except (ValueError, RecursionError, MemoryError):
        return False
    return len(calls) == 1 and any(type(value) is not str for value in calls[0][1].values())
