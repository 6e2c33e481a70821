"""Record one verdict, fault and list of tags for all items of a cluster that the annotator has not reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fcreview.model.review import Annotation, Fault
from fcreview.model.sanitize import display_width, pad, sanitize
from fcreview.model.wording import format_count, format_verdict
from fcreview.tui.queue.columns import difference_line, fit_difference
from fcreview.tui.review.recorder import VERDICTS_BY_KEY
from fcreview.tui.text.graphics import verdict_badge
from fcreview.tui.text.lines import Line, StyledText, line_width, make_line, truncate_middle
from fcreview.tui.text.theme import symbols

if TYPE_CHECKING:
    from fcreview.store.rows import QueueRow, View
    from fcreview.store.store import Store

MAX_SHOWN_ITEMS = 20
MIN_ID_CELLS = 14
NOT_MEASURED = "Bulk reviews do not count in agreement, calibration or estimates."


@dataclass(slots=True)
class BulkReview:
    """A bulk review that is being entered."""

    items: Sequence[int]
    """Numbers of the items to review."""
    rows: Sequence[QueueRow]
    """Rows of the first items."""
    known_tags: Sequence[str] = ()
    """Error tags of the benchmark."""
    verdict_key: str = ""
    """Key of `VERDICTS_BY_KEY`. Empty before the annotator has given a verdict."""
    fault: Fault | None = None
    tags: list[str] = field(default_factory=list)

    def set_verdict(self, key: str) -> None:
        """Set the verdict. `golden` also sets its fault, and another verdict removes that fault."""
        fault = VERDICTS_BY_KEY[key][1]
        if fault is not None or self.verdict_key == "golden":
            self.fault = fault
        self.verdict_key = key

    @property
    def annotation(self) -> Annotation:
        return Annotation(verdict=VERDICTS_BY_KEY[self.verdict_key][0], fault=self.fault, tags=self.tags or None)

    def describe(self) -> str:
        """Describe the review: `fail, fault: model, tags unit`. Sanitized."""
        parts = [format_verdict(VERDICTS_BY_KEY[self.verdict_key][0], "correct")]
        parts += [f"fault: {self.fault}"] if self.fault else []
        parts += [f"tags {sanitize(', '.join(self.tags))}"] if self.tags else []
        return ", ".join(parts)

    @property
    def question(self) -> str:
        """Question that asks the annotator to confirm the review and the number of items."""
        return f"Record {self.describe()} for {format_count(len(self.items), 'item')}?"


def read_cluster(store: Store, view: View) -> BulkReview:
    """Read the items of a cluster that the annotator has not reviewed."""
    items = store.analysis.find_unreviewed(view)
    rows = store.fetch_rows(items[:MAX_SHOWN_ITEMS])
    runs = {row.run for row in rows}
    tags = [tag for run in store.fetch_runs() if run.run in runs for tag in run.info.tags]
    return BulkReview(items, rows, list(dict.fromkeys(tags)))


def item_lines(review: BulkReview, cells: int) -> list[Line]:
    """Return a line for each shown item: id, effective verdict and first difference."""
    names = {row.item: (sanitize(row.id), sanitize(row.run_name or row.model)) for row in review.rows}
    has_models = len({model for _, model in names.values()}) > 1
    sizes = [max((display_width(each[at]) for each in names.values()), default=0) for at in (0, 1)]
    sizes = [max(min(size, cells // 3 if at == 0 else cells // 5), MIN_ID_CELLS) for at, size in enumerate(sizes)]
    lines: list[Line] = []
    for row in review.rows:
        name, model = names[row.item]
        head: list[StyledText] = [(pad(truncate_middle(name, sizes[0]), sizes[0]), ""), ("  ", "")]
        if has_models:
            head += [(pad(truncate_middle(model, sizes[1]), sizes[1]), "dim"), ("  ", "")]
        head += [verdict_badge(row.effective), ("  ", "")]
        room = max(cells - line_width(tuple(head)), 1)
        lines.append((*head, *fit_difference(difference_line(row) or make_line(""), room)))
    return lines


def entry_lines(review: BulkReview) -> list[Line]:
    """Return the lines with verdict, fault and tags."""
    none: StyledText = (symbols().none, "dim")
    verdict = verdict_badge(VERDICTS_BY_KEY[review.verdict_key][0]) if review.verdict_key else none
    fault: StyledText = (review.fault, "people") if review.fault else none
    tags: StyledText = (sanitize(", ".join(review.tags)), "people") if review.tags else none
    return [(("verdict  ", "dim"), verdict), (("fault    ", "dim"), fault), (("tags     ", "dim"), tags)]
