"""Add the verdicts of a mapping to an item: official, of judges, and of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.mapping.joins import JoinRow
from fcreview.importers.mapping.mapping_file import ItemForm, Opinion
from fcreview.importers.mapping.value_reader import ValueReader
from fcreview.model.item import Item, RecordedReview, Verdict

SCORE = "score"
"""Criterion of a figure without a verdict."""
UNNAMED = "unnamed"
NO_VERDICT = "the judge gave no verdict"


def add_official_verdict(item: Item, form: ItemForm, reader: ValueReader) -> None:
    """Add the verdict and the score of [item], which are the benchmark's own."""
    origin = reader.record.file.name
    verdict = reader.read_verdict(form.values.get("verdict"), form.rule)
    if verdict is not None:
        item.official = verdict
        item.verdicts.append(Verdict("official", verdict, by=origin))
    score = reader.read_number(form.values.get("score"))
    if score is not None:
        item.verdicts.append(Verdict("official", score, criterion=SCORE, by=origin))


def add_judges(item: Item, judges: Sequence[Opinion], reader: ValueReader) -> None:
    """Add the verdicts of all judges. The item's verdict is the one of most of them."""
    for judge in judges:
        for row in _list_rows(judge, reader):
            _add_judge(item, judge, reader, row)
    _report_contradicting_judges(item, reader)
    item.judge = _find_majority(item)


def _report_contradicting_judges(item: Item, reader: ValueReader) -> None:
    """Report each judge who says pass and fail for the same item, which can be a wrong join.

    Verdicts without a name can be of several judges.
    """
    values_by_judge: dict[str, set[bool]] = {}
    for verdict in item.verdicts:
        is_named_judge = verdict.source == "judge" and verdict.by not in (None, UNNAMED)
        if is_named_judge and isinstance(verdict.value, bool):
            values_by_judge.setdefault(str(verdict.by), set()).add(verdict.value)
    for name, verdicts in values_by_judge.items():
        if len(verdicts) > 1:
            reader.add_issue(f"judge {name} says pass and fail for this item. Each verdict counts")


def _list_rows(opinion: Opinion, reader: ValueReader) -> Sequence[JoinRow | None]:
    """Return the rows with a judge or person. None stands for the record of the item itself."""
    if not opinion.join:
        return [None]
    return reader.rows.get(opinion.join, ())


def _add_judge(item: Item, judge: Opinion, reader: ValueReader, row: JoinRow | None) -> None:
    """Add the verdict and the score of a judge. A verdict that cannot be read is a failure of the
    judge.
    """
    opinion = _read_judge_opinion(judge, reader, row)
    if opinion.is_empty:
        return
    if opinion.name is None:
        reader.add_issue(f"{judge.key}: a verdict without the name of the judge")
    label = opinion.name or UNNAMED

    _add_verdict_of_judge(item, opinion, label)
    if opinion.score is not None:
        item.verdicts.append(Verdict("judge", opinion.score, criterion=SCORE, by=label))
        _report_contradiction(judge, label, opinion.verdict, score=opinion.score, reader=reader)


@dataclass(frozen=True, slots=True)
class _JudgeOpinion:
    """What a record says about one judge. Each value is None if the record has none."""

    name: str | None
    verdict: bool | None
    failure: str | None
    """Why the verdict in the record cannot be read."""
    rationale: str | None
    score: float | None

    @property
    def is_empty(self) -> bool:
        """Whether the judge was not asked. A name alone is no opinion."""
        values = (self.verdict, self.failure, self.rationale, self.score)
        return all(value is None for value in values)


def _read_judge_opinion(judge: Opinion, reader: ValueReader, row: JoinRow | None) -> _JudgeOpinion:
    name = reader.read_name(judge.values.get("name"), row)

    # If the verdict cannot be read, the reader adds an issue, which says why.
    n_earlier_issues = len(reader.issues)
    verdict = reader.read_verdict(judge.values.get("verdict"), judge.rule, row)
    verdict_issues = reader.issues[n_earlier_issues:]

    return _JudgeOpinion(
        name,
        verdict=verdict,
        failure=verdict_issues[0].what if verdict_issues else None,
        rationale=reader.read_text(judge.values.get("rationale"), row),
        score=reader.read_number(judge.values.get("score"), row),
    )


def _add_verdict_of_judge(item: Item, opinion: _JudgeOpinion, label: str) -> None:
    """Add the verdict of a judge, or the failure to give one."""
    if opinion.verdict is None:
        add_failed_verdict(item, "judge", failure=opinion.failure or NO_VERDICT, by=label)
        item.verdicts[-1].rationale = opinion.rationale
        return
    verdict = Verdict("judge", opinion.verdict, rationale=opinion.rationale, by=label)
    item.verdicts.append(verdict)


def _report_contradiction(
    judge: Opinion, name: str, verdict: bool | None, *, score: float, reader: ValueReader
) -> None:
    """Report a figure of 0 or 1 that says the opposite of the judge's verdict."""
    if verdict is None or score not in (0, 1) or bool(score) is verdict:
        return
    word = "pass" if verdict else "fail"
    reader.add_issue(
        f"{judge.key}: the verdict of {name} is {word}, but its score is {score:g}. The verdict"
        " counts",
        severity="notice",
    )


def _find_majority(item: Item) -> bool | None:
    """Return the verdict of most judges, or None without one or with as many on both sides."""
    verdicts = [
        verdict.value
        for verdict in item.verdicts
        if verdict.source == "judge" and verdict.criterion != SCORE and verdict.value is not None
    ]
    n_passes = sum(value is True for value in verdicts)
    n_fails = len(verdicts) - n_passes
    if n_passes == n_fails:
        return None
    return n_passes > n_fails


def add_people(item: Item, people: Sequence[Opinion], reader: ValueReader) -> None:
    """Add the verdicts of people. `fcreview import-labels --format mapping` records them."""
    for person in people:
        for row in _list_rows(person, reader):
            _add_person(item, person, reader, row)
    _report_people_of_two_minds(item, reader)


def _report_people_of_two_minds(item: Item, reader: ValueReader) -> None:
    """Report each annotator who says pass and fail for the same item."""
    verdicts_by_author: dict[str, set[bool]] = {}
    for review in item.extra.recorded_reviews:
        if review.verdict is not None and review.author != UNNAMED:
            verdicts_by_author.setdefault(review.author, set()).add(review.verdict)
    for author, verdicts in verdicts_by_author.items():
        if len(verdicts) > 1:
            reader.add_issue(f"annotator {author} says pass and fail for this item")


def _add_person(item: Item, person: Opinion, reader: ValueReader, row: JoinRow | None) -> None:
    """Add the review of a person, if the record has a verdict, a note or a tag by them."""
    name = reader.read_name(person.values.get("name"), row)
    review = _read_review(person, reader, row, author=name or UNNAMED)
    if review.verdict is None and review.reason is None and not review.tags:
        return
    if name is None:
        reader.add_issue(f"{person.key}: a verdict without the name of the annotator")
    item.extra.recorded_reviews.append(review)


def _read_review(
    person: Opinion, reader: ValueReader, row: JoinRow | None, *, author: str
) -> RecordedReview:
    """Read the verdict, the note, the time and the tag of a person."""
    values = person.values
    review = RecordedReview(
        "mapping",
        author=author,
        verdict=reader.read_verdict(values.get("verdict"), person.rule, row),
        reason=reader.read_text(values.get("note"), row),
        time=reader.read_name(values.get("time"), row),
    )
    tag = reader.read_name(values.get("tag"), row)
    if tag is not None:
        review.tags = [tag]
    return review
