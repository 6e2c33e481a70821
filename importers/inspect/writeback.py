"""Reviewed verdicts as edits of the scores in an Inspect log. Its golden answers cannot be corrected here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fcreview.importers.inspect.columns import load_figures
from fcreview.importers.inspect.log_edits import LogEditError, edit_log
from fcreview.importers.inspect.read import read_items
from fcreview.model.item import Item, Run
from fcreview.run_plan import ReviewedVerdict, RewrittenFile, RunPlan, Unrepresentable

NO_DATASET = "an Inspect log has no dataset whose golden answers can be corrected"


def check_golden_fix(run: Run, item: Item, golden_fix: dict[str, Any]) -> str | None:  # noqa: ARG001
    return NO_DATASET


def make_golden_template(run: Run, item: Item) -> dict[str, Any] | None:  # noqa: ARG001
    return None


def recheck(run: Run, item: Item, golden_fix: dict[str, Any], record: Any) -> bool | None:  # noqa: ARG001
    return None


def write_reviewed_logs(
    plan: RunPlan, verdicts: Sequence[ReviewedVerdict]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield a copy of each log of a run with the reviewed verdicts as edits of its main score."""
    places = {}
    for item in read_items(plan):
        if isinstance(item, Item):
            metadata = item.extra.metadata
            places[item.file, str(metadata["sample"]), type(metadata["sample"]), metadata["epoch"]] = item.id
    by_id = {verdict.item_id: verdict for verdict in verdicts}
    primary = load_figures(plan.run).primary
    if primary is None:
        yield Unrepresentable("verdicts on a log without scores", len(verdicts))
        return
    for path in plan.results:

        def find(sample: dict[str, Any], file: str = str(path)) -> ReviewedVerdict | None:
            place = file, str(sample.get("id")), type(sample.get("id")), sample.get("epoch", 1)
            return by_id.get(places.get(place, ""))

        try:
            yield RewrittenFile(path, edit_log(path, primary, find))
        except LogEditError as error:
            yield Unrepresentable(f"verdicts on {error}", len(verdicts))
