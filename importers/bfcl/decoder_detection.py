"""Choose the decoder for a run: the user's choice, the decoder of a listed model, or the decoder
that fits best.

A listed name makes a decoder certain unless the evidence contradicts it. The evidence are official
verdicts and the forms of the replies (`evidence.py`). If the decoder is not certain or is
contradicted, fcreview tries all decoders and chooses the one that agrees with most official
verdicts. Without scores, it chooses the one that finds calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl import filenames, scores
from fcreview.importers.bfcl.decoder_evidence import (
    MAX_RECORDS,
    QUICK_RECORDS,
    Evidence,
    ScoredReply,
    collect_evidence,
    read_reply,
)
from fcreview.importers.bfcl.decoders.base import Decoder, DecoderContext
from fcreview.importers.bfcl.decoders.models import (
    ModelDecoder,
    find_model_decoder,
    list_version_decoders,
)
from fcreview.importers.bfcl.decoders.registry import (
    DECODERS,
    DECODERS_BY_NAME,
    DEFAULT_DECODERS,
    find_decoder,
    to_early_v1_decoder,
)
from fcreview.importers.bfcl.joining import Results
from fcreview.model.item import ImportIssue, RunFact
from fcreview.model.wording import format_count
from fcreview.run_plan import RunPlan

DECODER_FACT = "decoder"

FIRST_ROUND = 240
"""Number of replies with which all decoders are tried.

The best ones are then tried with all replies.
"""
MAX_UNSCORED = 400
"""Maximum number of replies with which decoders are compared if there are no scores."""
MAX_CONTRADICTIONS = 0.02
"""Share of official verdicts that may contradict the decoder of a listed model.

Up to 0.1 % do in published runs.
"""
FEW = 0.1
"""If a decoder finds calls in a smaller share of the replies, they have another form than it
expects.
"""
MANY = 0.25
"""A decoder that finds calls in at least this share of the replies expects their form.

Weak models often omit calls.
"""
CLEARLY_MORE = 1.25
"""An unusual decoder must find calls in this many times as many replies as the first guess."""

NEARLY_AS_MANY = 0.98
"""Decoders that find calls in this share of the replies of the best decoder are equally good."""

NATIVE_DECODERS = ("FC", "LIST", "FC-DOTTED", "LIST-DOTTED")
"""The most frequent decoders of native lists of calls."""
OTHER_SPELLINGS = {
    "FC": "FC-DOTTED",
    "FC-DOTTED": "FC",
    "LIST": "LIST-DOTTED",
    "LIST-DOTTED": "LIST",
}
"""Decoder -> decoder that reads the same replies but expects the other spelling of names such as
`math.factorial`.
"""
OTHER_SPELLING_GAIN = 0.05
"""Share of the replies that must pass only with the other spelling of names, so that it is
chosen without scores.
"""

NAMED_PARAMETER = re.compile(r"\bparameter '([^']*)'")
"""Matches the name of the parameter in an error message of the official program."""


@dataclass(frozen=True, slots=True)
class DecoderChoice:
    """Decoder of a run and why it was chosen."""

    decoder: Decoder
    reason: str
    is_listed: bool = False
    """Whether the decoder is that of the listed model with the run's name, and nothing
    contradicts it.
    """
    issues: tuple[ImportIssue, ...] = ()

    @property
    def fact(self) -> RunFact:
        return RunFact(
            DECODER_FACT, value=self.decoder.name, reason=self.reason, is_notable=not self.is_listed
        )


@dataclass(frozen=True, slots=True)
class _ComparisonWithBest:
    """Compares the decoder that the user chose with the one that fits best."""

    best: Decoder
    about_choice: str
    """Words about the choice, such as `finds calls in 3 of 40 replies`."""
    about_best: str


class Fit:
    """How well a decoder fits the replies of a run."""

    def __init__(self, decoder: Decoder, replies: Sequence[ScoredReply], version: str) -> None:
        self.decoder = decoder
        self.replies = replies
        self._version = version
        self.n_agreements = 0
        """Number of scored replies that the decoder and the official program read in the same
        way.
        """
        self.n_passes_confirmed = 0
        """Number of these replies that passed."""
        self.n_same_errors = 0
        """Number of scored replies for which even the error types are the same."""
        self.n_with_calls = 0
        self.n_passing = 0
        for reply in replies:
            self._add(reply)

    def _add(self, reply: ScoredReply) -> None:
        """Count how a decoder reads one more reply."""
        reading = read_reply(reply, self.decoder, self._version)
        if reading.agrees:
            self.n_agreements += 1
            if reply.official is True:
                self.n_passes_confirmed += 1
        if reading.has_same_error:
            self.n_same_errors += 1

        if not reply.needs_calls:
            return
        if reading.has_calls:
            self.n_with_calls += 1
        if reading.is_passing:
            self.n_passing += 1

    @cached_property
    def n_scored(self) -> int:
        return sum(reply.official is not None for reply in self.replies)

    @cached_property
    def n_needing_calls(self) -> int:
        return sum(reply.needs_calls for reply in self.replies)

    @property
    def n_contradictions(self) -> int:
        return self.n_scored - self.n_agreements

    @property
    def is_contradicted(self) -> bool:
        return self.n_contradictions > MAX_CONTRADICTIONS * self.n_scored

    @property
    def finds_few_calls(self) -> bool:
        return self.n_with_calls < FEW * self.n_needing_calls

    def is_better_than(self, other: Fit) -> bool:
        """Whether the decoder agrees with more official verdicts or, if equal, with more error
        types.
        """
        mine = self.n_agreements, self.n_same_errors
        return mine > (other.n_agreements, other.n_same_errors)


def select_run_decoder(plan: RunPlan) -> DecoderChoice:
    """Choose the decoder of a run: the rules by which BFCL reads the calls in the model's replies.

    The decoder that the user named counts. Otherwise, the model's name, the scores and the form of
    the replies decide.
    """
    version = filenames.get_rules_version(plan.run.generation)
    decoder_of_model = find_model_decoder(plan.run.model, version)
    selector = _DecoderSelector(plan, version, decoder_of_model)
    named_by_user = plan.options.get("decoder")
    if not named_by_user:
        return selector.select()

    decoder = find_decoder(named_by_user, version)
    if decoder is not None:
        return selector.check_choice_of_user(decoder)

    selected = selector.select()
    what = (
        f"there is no decoder {named_by_user!r}. Using {selected.decoder.name}: {selected.reason}"
    )
    issue = ImportIssue(plan.run.path, what=what)
    return DecoderChoice(selected.decoder, selected.reason, issues=(*selected.issues, issue))


def expect_run_decoder(plan: RunPlan) -> DecoderChoice | None:
    """Return the decoder that a run will probably have, without reading its files.

    None if the model's name does not tell the decoder, or if the user named one.
    `select_run_decoder` makes the final choice, for which it reads the files too.
    """
    version = filenames.get_rules_version(plan.run.generation)
    decoder_of_model = find_model_decoder(plan.run.model, version)
    if plan.options.get("decoder") or not decoder_of_model.is_certain:
        return None
    return _DecoderSelector(plan, version, decoder_of_model).choose_listed_decoder()


class _DecoderSelector:
    """Chooses the decoder for one run."""

    def __init__(self, plan: RunPlan, version: str, named: ModelDecoder) -> None:
        self._plan = plan
        self._version = version
        self._named = named

    def select(self) -> DecoderChoice:
        """Choose the decoder of a run, which says how replies contain calls, for example as Python
        or JSON.

        The model's name decides, if the benchmark's list has it and the records do not contradict.
        Else, the decoder with which the official scores come out is chosen or, without scores, the
        one that fits the form of the replies.
        """
        if self._named.is_certain and not self._contradicts(self._named.decoder):
            return self.choose_listed_decoder()

        evidence = self._collect(MAX_RECORDS)
        if evidence.scored:
            return self._select_by_scores(evidence)
        return self._select_by_form(evidence)

    def choose_listed_decoder(self) -> DecoderChoice:
        """Choose the decoder of the listed model with the run's name."""
        return DecoderChoice(self._named.decoder, self._describe_listed_name(), is_listed=True)

    def check_choice_of_user(self, decoder: Decoder) -> DecoderChoice:
        """Return the decoder that the user chose, with an issue if another one fits better.

        Another one fits better if the choice contradicts the official verdicts, or without scores,
        if the choice finds few calls.
        """
        reason = "chosen by the user"
        if not self._contradicts(decoder):
            return DecoderChoice(decoder, reason)

        evidence = self._collect(MAX_RECORDS)
        if evidence.scored:
            comparison = self._compare_by_scores(decoder, evidence.scored)
        else:
            comparison = self._compare_by_form(decoder, evidence)
        if comparison.best.name == decoder.name:
            return DecoderChoice(decoder, reason)

        what = (
            f"the decoder {decoder.name}, chosen by the user, {comparison.about_choice}."
            f" {comparison.about_best}"
        )
        issue = ImportIssue(self._plan.run.path, what=what)
        full_reason = f"{reason}; {comparison.about_choice}; {comparison.about_best}"
        return DecoderChoice(decoder, full_reason, issues=(issue,))

    def _compare_by_scores(
        self, choice: Decoder, scored: Sequence[ScoredReply]
    ) -> _ComparisonWithBest:
        """Compare a choice with the decoder that agrees with most official verdicts."""
        agreement = _describe_agreement(self._fit(choice, scored))
        best = self._find_best_by_scores(choice, scored)
        return _ComparisonWithBest(
            best.decoder,
            about_choice=f"agrees with {agreement}",
            about_best=f"{best.decoder.name} agrees with {_describe_fewer_agreements(best)}",
        )

    def _compare_by_form(self, choice: Decoder, evidence: Evidence) -> _ComparisonWithBest:
        """Compare a choice with the decoder that finds calls in most replies."""
        n_replies = _describe_calls(self._fit(choice, evidence.replies))
        best = self._find_best_by_form(choice, evidence.with_golden_calls)
        return _ComparisonWithBest(
            best.decoder,
            about_choice=f"finds calls in {n_replies}",
            about_best=f"{best.decoder.name} finds calls in {best.n_with_calls:,}",
        )

    def _collect(self, n_records: int) -> Evidence:
        return collect_evidence(self._plan.importer_data, self._plan.run.generation, n_records)

    def _fit(self, decoder: Decoder, replies: Sequence[ScoredReply]) -> Fit:
        return Fit(decoder, replies, self._version)

    def _contradicts(self, decoder: Decoder) -> bool:
        """Whether official verdicts, or the form of most replies, contradict a decoder.

        Reads only some replies.
        """
        evidence = self._collect(QUICK_RECORDS)
        if evidence.scored:
            return self._fit(decoder, evidence.scored).is_contradicted
        replies = evidence.with_golden_calls
        if not replies:
            return False
        fit = self._fit(decoder, replies)
        # The other spelling is chosen only if clearly more replies pass with it.
        return fit.finds_few_calls or self._choose_spelling(fit) is not fit

    def _select_by_scores(self, evidence: Evidence) -> DecoderChoice:
        """Choose the decoder with which most recomputed verdicts equal the official ones.

        The reason states in how many replies they do and, if the decoder is not the one that the
        model's name suggests, compares it with that one.
        """
        guess = self._named.decoder
        best = self._find_best_by_scores(guess, evidence.scored)
        reason = f"agrees with {_describe_agreement(best)}"
        if best.decoder.name != guess.name:
            fit_of_guess = self._fit(guess, evidence.scored)
            comparison = (
                f"{self._describe_named_decoder()} agrees with"
                f" {_describe_fewer_agreements(fit_of_guess)}"
            )
            return DecoderChoice(best.decoder, f"{reason}; {comparison}")

        if self._named.is_certain:
            reason = f"{self._describe_listed_name()}; {reason}"
            return DecoderChoice(guess, reason, is_listed=not best.is_contradicted)
        return DecoderChoice(guess, reason)

    def _find_best_by_scores(self, guess: Decoder, scored: Sequence[ScoredReply]) -> Fit:
        """Return the decoder that agrees with most official verdicts.

        Of equally good decoders, the first candidate wins, which is the guess. However, the decoder
        AUTO reads several forms, so a decoder that reads exactly the form of the replies replaces
        it.
        """
        candidates = self._list_candidates(guess, DECODERS, scored)
        best, *others = self._fit_good_candidates(candidates, scored)
        for fit in others:
            is_as_good = not best.is_better_than(fit)
            replaces_auto = is_as_good and best.decoder.name == "AUTO"
            if fit.is_better_than(best) or replaces_auto:
                best = fit
        return best

    def _fit_good_candidates(
        self, candidates: Sequence[Decoder], scored: Sequence[ScoredReply]
    ) -> list[Fit]:
        """Return how well the good candidates fit all replies.

        All candidates are tried with a part of the replies. The good ones are those that agree with
        the official verdicts on this part about as often as the best one.
        """
        first_round = _spread(scored, FIRST_ROUND)
        fits = [self._fit(decoder, first_round) for decoder in candidates]
        if len(first_round) == len(scored):
            return fits

        most_agreements = max(fit.n_agreements for fit in fits)
        threshold = most_agreements - MAX_CONTRADICTIONS * len(first_round)
        good = [fit.decoder for fit in fits if fit.n_agreements >= threshold]
        return [self._fit(decoder, scored) for decoder in good]

    def _select_by_form(self, evidence: Evidence) -> DecoderChoice:
        """Choose a decoder for a run without scores, by the form of the calls in the replies."""
        guess = self._named.decoder
        replies = evidence.with_golden_calls
        if not replies:
            return self._describe_guess(guess, "there are no replies that show the form of calls")

        best = self._find_best_by_form(guess, replies)
        reason = f"no scores; finds calls in {_describe_calls(best)}"
        if best.decoder.name == guess.name:
            return self._describe_guess(guess, reason, finds_few_calls=best.finds_few_calls)

        fit_of_guess = self._fit(guess, best.replies)
        comparison = f"{self._describe_named_decoder()} in {fit_of_guess.n_with_calls:,}"
        return DecoderChoice(best.decoder, f"a guess: {reason}; {comparison}")

    def _find_best_by_form(self, guess: Decoder, replies: Sequence[ScoredReply]) -> Fit:
        """Return the decoder that reads the form of the calls in the replies.

        If a decoder finds calls in clearly more replies than the guess does, the replies have
        another form than the guess expects, and the best decoder of that form is used. Otherwise it
        is the guess, or one that finds calls in as many replies and agrees better with the golden
        answers.
        """
        sample = _spread(replies, MAX_UNSCORED)
        fit_of_guess = self._fit(guess, sample)
        candidates = self._list_candidates(guess, self._list_usual_decoders(), sample)
        fits = [self._fit(decoder, sample) for decoder in candidates]

        most_with_calls = max(fit.n_with_calls for fit in fits)
        has_other_form = self._is_better_form(fit_of_guess, most_with_calls)
        if has_other_form:
            return self._find_best_of_other_form(fits, sample, most_with_calls)

        # The guess reads the form. BFCL lists the model, so that only the spelling of function
        # names is left to choose.
        if self._named.listed_name is not None:
            return self._choose_spelling(fit_of_guess)
        # Several decoders read the same form. The golden answers show which one reads it right.
        equal_fits = [fit for fit in fits if fit.n_with_calls == fit_of_guess.n_with_calls]
        return _find_most_passing(equal_fits)

    def _find_best_of_other_form(
        self, fits: Sequence[Fit], sample: Sequence[ScoredReply], most: int
    ) -> Fit:
        """Return the best decoder for replies of another form than the guess expects.

        This is a frequent decoder, unless another one finds calls in clearly more replies. A rare
        decoder needs this stronger evidence, because some also find calls inside prose, where most
        programs find none. `most` is the largest number of replies in which a decoder finds calls.
        """
        frequent_names = _list_frequent_decoders(sample, self._version)
        good_frequent = []
        for fit in fits:
            others_find_clearly_more = most > fit.n_with_calls * CLEARLY_MORE
            if fit.decoder.name in frequent_names and not others_find_clearly_more:
                good_frequent.append(fit)
        if good_frequent:
            return _find_most_passing(good_frequent)
        return _find_most_passing(
            [fit for fit in fits if fit.n_with_calls >= NEARLY_AS_MANY * most]
        )

    def _choose_spelling(self, fit: Fit) -> Fit:
        """Return the fit of a decoder that spells function names in the other way, if clearly more
        replies pass with it. Otherwise, return `fit`.
        """
        name = OTHER_SPELLINGS.get(fit.decoder.name)
        if name is None:
            return fit
        # The spelling says whether dots in function names were replaced by underscores.
        other = self._fit(DECODERS_BY_NAME[name], fit.replies)
        gain = other.n_passing - fit.n_passing
        if gain > OTHER_SPELLING_GAIN * fit.n_needing_calls:
            return other
        return fit

    def _is_better_form(self, guessed: Fit, most: int) -> bool:
        """Whether a decoder that finds calls in `most` replies replaces the guessed decoder.

        It must find calls in clearly more replies than the guess. Another rule applies if the guess
        comes from a listed model name: the guess must find calls in few of the replies that need
        them, and the other decoder in many of them.
        """
        if self._named.listed_name is not None:
            return guessed.finds_few_calls and most >= MANY * guessed.n_needing_calls
        return most > CLEARLY_MORE * guessed.n_with_calls

    def _list_candidates(
        self, guess: Decoder, decoders: Iterable[Decoder], replies: Sequence[ScoredReply]
    ) -> list[Decoder]:
        """Return the guess, the most frequent decoders for replies of this form, and the others."""
        names = [guess.name, *_list_frequent_decoders(replies, self._version)]
        names += [decoder.name for decoder in decoders]
        candidates = [find_decoder(name, self._version) for name in dict.fromkeys(names)]
        return [decoder for decoder in candidates if decoder is not None]

    def _list_usual_decoders(self) -> list[Decoder]:
        """Return the decoders of models of the BFCL version.

        Others are not tried without scores.
        """
        names = list_version_decoders(self._version)
        return [decoder for decoder in DECODERS if decoder.name in names]

    def _describe_listed_name(self) -> str:
        return f"the name matches the row {self._named.listed_name} of BFCL {self._version}"

    def _describe_named_decoder(self) -> str:
        title = "listed" if self._named.is_certain else "the first guess"
        return f"{title} {self._named.decoder.name}"

    def _describe_guess(
        self, decoder: Decoder, reason: str, *, finds_few_calls: bool = False
    ) -> DecoderChoice:
        """Return a decoder that follows from the model's name, with words for how sure that is.

        It is sure if BFCL's list of models has the name, unless the decoder finds few calls.
        `reason` says what the replies show.
        """
        is_sure = self._named.is_certain and not finds_few_calls
        if is_sure:
            full_reason = f"{self._describe_listed_name()}; {reason}"
            return DecoderChoice(decoder, full_reason, is_listed=True)

        if self._named.is_certain:
            full_reason = f"a guess: {self._describe_listed_name()}; {reason}"
        elif self._named.listed_name is not None:
            full_reason = f"a guess: the name resembles {self._named.listed_name}; {reason}"
        else:
            full_reason = f"a guess: {reason}"
        return DecoderChoice(decoder, full_reason)


def _describe_agreement(fit: Fit) -> str:
    """Say in how many replies the verdict with a decoder equals the official one: `39 of 40 score
    entries and 160 of 160 passing items`.

    Score files have an entry for each failing item.
    """
    # A scored reply passed or failed, and so did each reply on which both verdicts agree.
    n_passed = sum(reply.official is True for reply in fit.replies)
    n_failed = fit.n_scored - n_passed
    n_confirmed_failures = fit.n_agreements - fit.n_passes_confirmed
    parts = []
    if n_failed:
        entries = format_count(n_failed, "score entry", "score entries")
        parts.append(f"{n_confirmed_failures:,} of {entries}")
    if n_passed:
        parts.append(f"{fit.n_passes_confirmed:,} of {format_count(n_passed, 'passing item')}")
    return " and ".join(parts)


def _describe_fewer_agreements(fit: Fit) -> str:
    return f"{fit.n_agreements:,} of {fit.n_scored:,}" if fit.n_agreements else "0"


def _describe_calls(fit: Fit) -> str:
    return f"{fit.n_with_calls:,} of {format_count(fit.n_needing_calls, 'reply', 'replies')}"


def _list_frequent_decoders(replies: Sequence[ScoredReply], version: str) -> tuple[str, ...]:
    """Return the names of the most frequent decoders for replies of this form."""
    n_lists = sum(type(reply.reply) is list for reply in replies)
    is_native = n_lists * 2 > len(replies)
    return NATIVE_DECODERS if is_native else (DEFAULT_DECODERS[version],)


def _find_most_passing(fits: Sequence[Fit]) -> Fit:
    """Return the fit with most passing replies, and of equal ones the first.

    If that is AUTO, which reads several forms, the last equally good one replaces it. A decoder
    that reads exactly the form of the replies describes them better.
    """
    best = fits[0]
    for fit in fits[1:]:
        is_as_good_as_auto = best.decoder.name == "AUTO" and fit.n_passing == best.n_passing
        if fit.n_passing > best.n_passing or is_as_good_as_auto:
            best = fit
    return best


def _spread(replies: Sequence[ScoredReply], n_wanted: int) -> Sequence[ScoredReply]:
    """Return at most `n_wanted` replies, evenly distributed over all of them."""
    if len(replies) <= n_wanted:
        return replies
    return [replies[index * len(replies) // n_wanted] for index in range(n_wanted)]


def select_category_decoder(
    version: str, category: str, decoder: Decoder, results: Results, score_file: scores.ScoreFile
) -> Decoder:
    """Return the decoder for one category of a run: that of the run, or its form from before the
    middle of July 2024.

    Until then, V1 turned the arguments of native Java and JavaScript calls into text before it
    checked them. The official verdicts on calls with other arguments show whether it did. If they
    do not, the folder names decide, which can contain a date.
    """
    early = to_early_v1_decoder(decoder, version)
    # Most decoders have no earlier form.
    if early is decoder or category not in ("java", "javascript"):
        return decoder

    signs = _count_signs_of_stringified_arguments(category, decoder, results, score_file)
    n_stringified = signs[True]
    n_native = signs[False]
    if n_stringified == n_native:
        is_early = filenames.is_early_v1_file(_find_first_file(results, score_file))
    else:
        is_early = n_stringified > n_native
    return early if is_early else decoder


def _count_signs_of_stringified_arguments(
    category: str, decoder: Decoder, results: Results, score_file: scores.ScoreFile
) -> Counter[bool | None]:
    """Count the replies whose verdict shows that the evaluator turned arguments into text (True),
    that it did not (False), or neither (None).
    """
    signs: Counter[bool | None] = Counter()
    # In a damaged score file, an item without an entry may have failed.
    if not score_file.is_complete:
        return signs

    for item_id in results.records:
        record = results.read_record(item_id)
        result = record.get("result") if isinstance(record, dict) else None
        arguments = _decode_single_call_arguments(decoder, result, category)
        entry = score_file.failing.get(item_id)
        signs[_has_stringified_arguments(arguments, entry)] += 1
    return signs


def _find_first_file(results: Results, score_file: scores.ScoreFile) -> Path:
    for result in results.records.values():
        return result.path
    return score_file.path


def _decode_single_call_arguments(decoder: Decoder, result: Any, language: str) -> dict[str, Any]:
    """Return the arguments of a reply's only call.

    Empty if the reply cannot be decoded or has several calls.
    """
    try:
        calls = decoder.decode(result, DecoderContext("V1", language))
    except (ValueError, RecursionError, MemoryError):
        return {}
    return calls[0][1] if len(calls) == 1 else {}


def _has_stringified_arguments(
    arguments: dict[str, Any], entry: scores.ScoreEntry | None
) -> bool | None:
    """Whether the official program turned the arguments of a call into text before it checked
    them, judging by its verdict. None if the verdict does not show it.

    The arguments must be Java or JavaScript source text. So a value that is no text passes only if
    the program turned it into text first.

    Args:
        arguments: The decoded arguments. Only a value that is no text can show a difference.
        entry: The score entry, with the error that the program found; None if the call passed.
    """
    position = _find_first_non_string(arguments)
    if position is None:
        return None
    if entry is None:
        # The call passed, and the value with it.
        return True

    error_type = scores.read_error_type(entry.record) or ""
    if error_type in ("type_error:java", "type_error:js"):
        # The value failed, because it was no text.
        return False

    # The program checks the arguments in order and stops at the first error. If this is another
    # error of the value itself, or one of a later argument, the value passed as text.
    named_parameter = NAMED_PARAMETER.search(scores.read_rationale(entry.record) or "")
    is_error_of_argument = error_type.startswith(("type_error", "value_error"))
    if named_parameter is None or not is_error_of_argument:
        return None
    names_from_value_on = list(arguments)[position:]
    if named_parameter[1] in names_from_value_on:
        return True
    return None


def _find_first_non_string(arguments: dict[str, Any]) -> int | None:
    """Return the position of the first argument that is no text, or None."""
    for position, value in enumerate(arguments.values()):
        if type(value) is not str:
            return position
    return None
