"""`fcreview suspects`: list golden answers that are probably wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    emit,
    emit_json,
    emit_lines,
    get_wrap_width,
    print_warning,
    show_activity,
)
from fcreview.cli.suspect_ranking import fetch_ranked_suspects
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import NO_DATASET_MESSAGE, format_count
from fcreview.tables.siblings import (
    build_contradiction_json,
    describe_answer_holders,
    describe_contradiction_counts,
    describe_question,
)
from fcreview.tables.suspects import describe_suspect, describe_suspect_counts, shorten_question

if TYPE_CHECKING:
    from fcreview.golden_audit.question import AlternativeAnswer
    from fcreview.golden_audit.score import Suspect
    from fcreview.golden_audit.siblings import Contradiction

DEFAULT_LIMIT = 20
MAX_QUESTION_CHARS = 150
DIFFERENT_DOCS = "the docs of a called function differ, so both may be right"
SUSPECT_INDENT = 11
"""Cells before the lines below the first line of a suspect."""
ONLY_FAILING = (
    "Without a dataset, only failing items have golden answers. The N in 'of N runs' counts only"
    " runs that fail"
)
ACTION_HINT = (
    "In `fcreview open PATH --item ID`: press g to mark the golden answer as wrong, G to correct"
    " it."
)


@workspace_command()
def suspects(
    options: WorkspaceOptions,
    where: WhereOption = "",
    limit: Annotated[
        int | None,
        option("--limit N", "List at most N items. Default: 20, or all with --json.", min=1),
    ] = None,
    run: RunOption = None,
    siblings: Annotated[
        bool,
        option(
            "--siblings",
            "List questions whose siblings in other categories or versions have another golden"
            " answer.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List golden answers that look wrong.

    Ranks items by the evidence against their golden answers. The evidence comes from all runs at
    PATH and from the golden answers of other items. A score of 0.5 or more is strong evidence.
    --where and --run limit the list, but not the evidence. docs/suspects.md explains the reasons.

    --siblings compares questions that a benchmark asks in several categories or versions, such as
    BFCL's multi_turn_base and multi_turn_miss_func. If one golden answer was corrected, its
    siblings often still have the old one.

    Example: fcreview suspects result/ --where category:live_simple
    """
    if siblings:
        _list_siblings(options, where, run, limit, as_json=as_json)
        return
    with open_workspace(options) as session:
        ranking = fetch_ranked_suspects(session, where, run)
        if as_json:
            emit_json(*_build_suspect_objects(ranking[:limit]))
        else:
            _print_suspects(ranking, limit or DEFAULT_LIMIT)
        n_lacking = sum(run.info.lacks_dataset for run in session.runs)
        if n_lacking:
            runs = f"{n_lacking:,} of {format_count(len(session.runs), 'run')}"
            print_warning(f"{runs}: {NO_DATASET_MESSAGE} {ONLY_FAILING}")


def _list_siblings(
    options: WorkspaceOptions, where: str, run: str | None, limit: int | None, *, as_json: bool
) -> None:
    """Print the questions whose siblings have different golden answers."""
    with open_workspace(options) as session:
        contradictions = _fetch_contradictions(session, where, run)
        if as_json:
            emit_json(*map(build_contradiction_json, contradictions[:limit]))
            return
        emit(describe_contradiction_counts(contradictions))
        n_listed = limit or DEFAULT_LIMIT
        for contradiction in contradictions[:n_listed]:
            emit()
            emit_lines(_format_contradiction_lines(contradiction))
        if len(contradictions) > n_listed:
            n_more = format_count(len(contradictions) - n_listed, "more question")
            emit(f"… {n_more}. Use --limit N, or --json to list all")


def _fetch_contradictions(
    session: WorkspaceSession, where: str, run: str | None
) -> list[Contradiction]:
    """Return the contradictions between siblings of which the filter selects at least one. All runs
    are compared.
    """
    from fcreview.golden_audit.siblings import find_contradictions
    from fcreview.importers.registry import parse_golden_fix
    from fcreview.store.filters.tokens import add_terms
    from fcreview.store.siblings import fetch_selected_questions, fetch_sibling_questions

    if run is not None:
        where = add_terms(where, f"run:{session.find_run_number(run)}")
    with show_activity("comparing golden answers of siblings"):
        selected_keys = None
        if where:
            selected_keys = fetch_selected_questions(session.store, session.build_view(where))
        questions = fetch_sibling_questions(session.store, session.build_view(), parse_golden_fix)
        contradictions = find_contradictions(questions)
    if selected_keys is None:
        return contradictions
    return [found for found in contradictions if not selected_keys.isdisjoint(found.keys)]


def _format_contradiction_lines(contradiction: Contradiction) -> Iterator[str]:
    """Format the question, the variants that agree, and those that differ, with the calls that
    only one side has.
    """
    reference = contradiction.reference
    names = describe_answer_holders(contradiction, reference)
    yield f"{names} (corrected)" if reference.is_corrected else names
    question = shorten_question(describe_question(contradiction), MAX_QUESTION_CHARS)
    yield from _wrap_indented("question:", question, indent=4)
    for answer in contradiction.answers[1:]:
        holders = describe_answer_holders(contradiction, answer)
        yield from _wrap_indented("differs:", holders, indent=4)
        for call in answer.list_calls_missing_in(reference):
            yield from _wrap_indented("- only here:", call, indent=6)
        for call in reference.list_calls_missing_in(answer):
            yield from _wrap_indented("- missing here:", call, indent=6)
        if not answer.has_same_function_docs(reference):
            yield from _wrap_indented("-", DIFFERENT_DOCS, indent=6)


def _build_suspect_objects(ranking: Sequence[Suspect]) -> Iterator[dict[str, Any]]:
    """Yield the JSON object of each suspect.

    Several suspects can have the same question and golden answer. `same_question_as` is the rank of
    the first of them, or null for the first one itself. So the objects with null count questions.
    """
    from fcreview.golden_audit.score import number_questions

    first_rank_by_question: dict[int, int] = {}
    questions = number_questions(ranking)
    for rank, (suspect, question) in enumerate(zip(ranking, questions, strict=True), 1):
        first_rank = first_rank_by_question.setdefault(question, rank)
        same_question_as = None if first_rank == rank else first_rank
        yield _build_suspect_json(rank, suspect, same_question_as)


def _build_suspect_json(
    rank: int, suspect: Suspect, same_question_as: int | None
) -> dict[str, Any]:
    """Build the JSON object of a suspect. `score` is from 0 to 1, and `reasons` are texts,
    strongest first.
    """
    return {
        "rank": rank,
        "score": round(suspect.score, 4),
        **suspect.question.key._asdict(),
        "reasons": [reason.full_text for reason in suspect.reasons],
        "n_runs": len(suspect.question.runs),
        "n_failing": suspect.question.n_failing,
        "alternative": _build_alternative_json(suspect.alternative),
        "strong": suspect.is_strong,
        "same_question_as": same_question_as,
    }


def _build_alternative_json(alternative: AlternativeAnswer | None) -> dict[str, Any] | None:
    """Build the JSON object of an alternative answer. `models` is empty if the answer comes only
    from golden answers.
    """
    if alternative is None:
        return None
    return {
        "answer": alternative.answer,
        "models": list(alternative.models),
        "families": list(alternative.families),
    }


def _print_suspects(ranking: Sequence[Suspect], limit: int) -> None:
    """Print the first `limit` suspects. A heading divides the strong suspects from the weak
    ones.
    """
    from fcreview.golden_audit.score import STRONG_SCORE

    n_strong = sum(suspect.is_strong for suspect in ranking)
    emit(describe_suspect_counts(ranking))
    for rank, suspect in enumerate(ranking[:limit], 1):
        emit()
        # Without strong suspects, nothing stands before the weak ones, and they need no heading.
        is_first_weak = rank == n_strong + 1
        if is_first_weak and n_strong:
            emit(f"weak suspects (score below {STRONG_SCORE}):\n")
        emit_lines(_format_suspect_lines(rank, suspect))

    if ranking:
        emit("", ACTION_HINT)
    if len(ranking) > limit:
        n_more = format_count(len(ranking) - limit, "more golden answer")
        emit(f"… {n_more}. Use --limit N, or --json to list all")


def _format_suspect_lines(rank: int, suspect: Suspect) -> Iterator[str]:
    """Format `  1  0.92  simple_3  simple  12 of 12 runs fail`, the question, the reasons and
    the alternative.
    """
    texts = describe_suspect(suspect)
    yield f"{rank:>3}  {texts.score}  {texts.item}  {texts.category}  {texts.failing} fail"
    if texts.question:
        question = shorten_question(texts.question, MAX_QUESTION_CHARS)
        yield from _wrap_indented("question:", question)
    for reason in texts.reasons:
        yield from _wrap_indented("-", reason)
    if texts.alternative:
        yield from _wrap_indented("- this answer may be right:", texts.alternative)


def _wrap_indented(prefix: str, text: str, *, indent: int = SUSPECT_INDENT) -> list[str]:
    """Wrap a text behind an indented prefix. Further lines are indented a little more."""
    blanks = " " * indent
    first = f"{blanks}{prefix} "
    return textwrap.wrap(
        sanitize(text),
        max(get_wrap_width(), 60),
        initial_indent=first,
        subsequent_indent=blanks + "  ",
    )
