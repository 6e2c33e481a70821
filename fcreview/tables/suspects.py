"""Words and table of suspects: golden answers that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.golden_audit.question import AlternativeAnswer
from fcreview.golden_audit.score import STRONG_SCORE, Suspect, count_questions
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.tables.table import Column, Table, make_row

NO_SUSPECTS = "No golden answer looks wrong."
MAX_REASONS = 4
"""Maximum number of reasons that are shown for a golden answer, the strongest first."""
MAX_MODELS = 5
"""Maximum number of models that are named for an alternative answer."""


@dataclass(frozen=True, slots=True)
class SuspectTexts:
    """Texts about one suspect, sanitized."""

    score: str
    """Score from 0 to 1, with two decimals."""
    item: str
    category: str
    failing: str
    """`12 of 12 runs`."""
    reasons: Sequence[str]
    """The strongest reasons and, if there are more, their number."""
    alternative: str
    """Answer that may be right instead, with the models that gave it. Empty if there is none."""
    question: str


def describe_suspect(suspect: Suspect) -> SuspectTexts:
    """Return the texts about a suspect: a question whose golden answer may be wrong."""
    question = suspect.question
    n_runs = format_count(len(question.runs), "run")
    alternative = ""
    if suspect.alternative is not None:
        alternative = _format_alternative(suspect.alternative)
    return SuspectTexts(
        score=f"{suspect.score:.2f}",
        item=sanitize(question.key.id),
        category=sanitize(question.key.category),
        failing=f"{question.n_failing} of {n_runs}",
        reasons=_list_reasons(suspect),
        alternative=alternative,
        question=sanitize(" ".join(question.text.split())),
    )


def _list_reasons(suspect: Suspect) -> list[str]:
    reasons = [sanitize(reason.full_text) for reason in suspect.reasons[:MAX_REASONS]]
    n_more = len(suspect.reasons) - MAX_REASONS
    if n_more > 0:
        reasons.append(f"and {format_count(n_more, 'more reason')}")
    return reasons


def _format_alternative(alternative: AlternativeAnswer) -> str:
    """Return `ANSWER (MODEL, MODEL and 3 more models)`."""
    answer = sanitize(alternative.answer)
    # `without mode` alone would read like a reason.
    if answer.startswith("without "):
        answer = f"the call {answer}"
    if not alternative.models:
        return answer
    models = sanitize(", ".join(alternative.models[:MAX_MODELS]))
    n_more = len(alternative.models) - MAX_MODELS
    if n_more > 0:
        models += f" and {format_count(n_more, 'more model')}"
    return f"{answer} ({models})"


def shorten_question(question: str, max_chars: int) -> str:
    """Cut the end of a question that is longer than `max_chars`."""
    if len(question) <= max_chars:
        return question
    return question[: max_chars - 1].rstrip() + "…"


def describe_suspect_counts(ranking: Sequence[Suspect]) -> str:
    """Return `5 golden answers · 4 suspects · 2 strong suspects (score 0.5 or more)`.

    If the benchmark repeats questions, each count is followed by the number of questions.
    """
    suspects = [suspect for suspect in ranking if suspect.reasons]
    strong = [suspect for suspect in ranking if suspect.is_strong]
    parts = [
        _format_suspect_count(ranking, "golden answer"),
        _format_suspect_count(suspects, "suspect"),
        _format_suspect_count(strong, "strong suspect", note=f"score {STRONG_SCORE} or more"),
    ]
    return " · ".join(parts)


def _format_suspect_count(suspects: Sequence[Suspect], noun: str, note: str = "") -> str:
    """Return `5 suspects`, `5 suspects (4 questions)` or `5 suspects (4 questions, NOTE)`."""
    notes = []
    n_questions = count_questions(suspects)
    if n_questions != len(suspects):
        notes.append(format_count(n_questions, "question"))
    if note:
        notes.append(note)

    text = format_count(len(suspects), noun)
    return f"{text} ({', '.join(notes)})" if notes else text


def build_suspects_table(
    suspects: Sequence[Suspect], *, max_rows: int, max_question_chars: int
) -> Table:
    """Return a row for each of the first `max_rows` suspects: questions whose golden answer may be
    wrong, the most suspect first.
    """
    columns = [
        Column("score", align_right=True),
        Column("item"),
        Column("category"),
        Column("failing runs"),
        Column("reasons"),
        Column("alternative answer"),
        Column("question"),
    ]
    rows = []
    for suspect in suspects[:max_rows]:
        texts = describe_suspect(suspect)
        rows.append(
            make_row(
                [
                    texts.score,
                    texts.item,
                    texts.category,
                    texts.failing,
                    "; ".join(texts.reasons),
                    texts.alternative,
                    shorten_question(texts.question, max_question_chars),
                ]
            )
        )

    notes = []
    if len(suspects) > max_rows:
        notes.append(f"The table lists the {max_rows} most suspect.")
    return Table(columns, rows, notes=notes)
