"""Fill in the form that draws a sample, and say how precise the estimate will be with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, sqrt

from fcreview.model.wording import format_count
from fcreview.store.rows import RunRow
from fcreview.tui.commands import YES, FormField
from fcreview.tui.figures.run_sample import DEFAULT_SAMPLE_SIZE, RunSample
from fcreview.tui.queue.header import TARGET_HALF_WIDTH, find_official_rate
from fcreview.tui.text.lines import BLANK_LINE, Line, make_line
from fcreview.tui.text.styles import symbols

DEFAULT_SHARED_ITEMS = 10
"""Number of items that all annotators review, so that their agreement can be measured."""
FIRST_FIELDS = ("size", "annotators", "blind", "overlap", "stratify")
"""Fields that users change most. The form begins with them."""
TARGET_POINTS = 100 * TARGET_HALF_WIDTH
"""Half the width of the interval that samples aim at, in percentage points."""
Z95 = 1.96
"""Half the width of a 95 % interval of a normal distribution, in standard deviations."""
MAX_COUNT_DIGITS = 9


def choose_sampling_command(sample: RunSample | None) -> str:
    """Return the command that draws a sample: `queue extend` if the run has an estimate, else
    `queue create`.
    """
    if sample is not None and sample.estimate is not None:
        return "queue extend"
    return "queue create"


def build_sampling_form_defaults(
    command: str,
    run: RunRow,
    sample: RunSample | None,
    annotators: str,
    queue_names: Sequence[str],
) -> dict[str, str]:
    """Return the initial values of the form that draws a sample, by field name.

    `command`: `queue create`, or `queue extend`, which draws more items into an existing queue.
    `annotators`: names, separated by commas. `queue_names`: names of the existing queue files.
    """
    if command == "queue extend" and sample is not None and sample.estimate is not None:
        # As many more items as the target interval needs.
        size = str(sample.n_to_draw)
        return {"name": sample.queues[0].queue, "size": size, "run": str(run.run)}

    has_official_verdicts = find_official_rate(run) is not None
    return {
        "name": _find_free_queue_name(queue_names),
        "size": str(min(DEFAULT_SAMPLE_SIZE, run.n_items)),
        "annotators": annotators,
        "overlap": str(min(DEFAULT_SHARED_ITEMS, run.n_items)),
        "stratify": "official" if has_official_verdicts else "",
        "run": str(run.run),
        "blind": YES,
    }


def _find_free_queue_name(existing_names: Sequence[str]) -> str:
    """Return `sample`, `sample-2` and so on, the first that does not exist."""
    name = "sample"
    number = 1
    while name in existing_names:
        number += 1
        name = f"sample-{number}"
    return name


def fill_and_order_fields(
    fields: Sequence[FormField], defaults: Mapping[str, str]
) -> list[FormField]:
    """Return the fields with the initial values in `defaults`, those that users change most
    first.
    """
    filled = []
    for field in fields:
        default = defaults.get(field.name, field.default)
        filled.append(replace(field, default=default))
    return sorted(filled, key=_rank_field)


def _rank_field(field: FormField) -> int:
    """Return the place of a field among `FIRST_FIELDS`. All other fields come after them."""
    if field.name in FIRST_FIELDS:
        return FIRST_FIELDS.index(field.name)
    return len(FIRST_FIELDS)


def expected_interval_line(
    form_values: Mapping[str, str], run: RunRow, sample: RunSample | None
) -> Line:
    """Say how wide the confidence interval will be with a sample of the size in the form, and how
    many items each annotator gets.

    Empty without a valid size.
    """
    size = _parse_count_or_zero(form_values.get("size", ""))
    if not size or size > run.n_items:
        return BLANK_LINE

    interval = _format_expected_interval(size, run, sample)
    items = _format_items_of_annotators(form_values, size)
    return make_line(f"expected: {interval}{items}", "dim")


def _format_expected_interval(size: int, run: RunRow, sample: RunSample | None) -> str:
    """Return `about ± 2.0 points`, or `at most ± 14 points` if the pass rate is still unknown."""
    sign = symbols().plus_minus
    points = _expected_points(size, run, sample)
    if points is not None:
        return f"about {sign} {points:.1f} points"
    return f"at most {sign} {_largest_expected_points(size, run):.0f} points"


def _format_items_of_annotators(form_values: Mapping[str, str], size: int) -> str:
    """Return how many of `size` items each annotator in the form gets: `, 30 items each`.

    All annotators review the shared items (the field `overlap`), and each one a part of the others.
    """
    annotators = _split_names(form_values.get("annotators", ""))
    if not annotators:
        return ""
    n_shared = min(_parse_count_or_zero(form_values.get("overlap", "")), size)
    n_own_items = ceil((size - n_shared) / len(annotators))
    items = format_count(n_shared + n_own_items, "item")
    if len(annotators) > 1:
        return f", {items} each"
    return f", {items}"


def _split_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def _expected_points(size: int, run: RunRow, sample: RunSample | None) -> float | None:
    """Return how precise the estimate will be with `size` more labels.

    The result is half the width of the confidence interval, in percentage points. It is derived
    from the current estimate, and None if there is none.
    """
    if sample is None or sample.half_width is None:
        return None
    n_labels = sample.n_decided
    has_basis = 0 < n_labels < run.n_items
    if not has_basis:
        return None

    # No more items can be drawn than are left.
    n_new_labels = min(size, sample.n_not_drawn)
    n_labels_then = n_labels + n_new_labels

    # Another line advises to draw `n_needed` more labels for the target. So that both lines agree,
    # these labels reach exactly the target, and further ones narrow the target interval.
    n_needed = sample.n_needed
    if n_needed and n_new_labels >= n_needed:
        n_labels_at_target = n_labels + n_needed
        return TARGET_POINTS * _shrink_interval(n_labels_at_target, n_labels_then, run.n_items)

    points = sample.half_width * _shrink_interval(n_labels, n_labels_then, run.n_items)
    if n_needed:
        # Fewer labels than needed never reach the target.
        return max(points, TARGET_POINTS)
    return points


def _shrink_interval(n_before: int, n_after: int, n_items: int) -> float:
    """Return the factor, from 0 to 1, by which a confidence interval shrinks with more labels.

    `n_before`, `n_after`: number of labels before and after.
    """
    variance_before = _sampling_variance(n_before, n_items)
    variance_after = _sampling_variance(n_after, n_items)
    if variance_before <= 0 or variance_after <= 0:
        return 0.0
    return sqrt(variance_after / variance_before)


def _sampling_variance(n_labels: int, n_items: int) -> float:
    """Return the variance of a mean of labels that are drawn without replacement, in units of the
    variance of one label. It is 0 if all items are labelled.
    """
    return 1 / n_labels - 1 / n_items


def _largest_expected_points(size: int, run: RunRow) -> float:
    """Return half the width, in percentage points, of an interval around 50 %, where it is the
    widest.
    """
    share_variance = 0.5 * (1 - 0.5)
    variance_of_mean = share_variance * _sampling_variance(size, run.n_items)
    return 100 * Z95 * sqrt(variance_of_mean)


def _parse_count_or_zero(text: str) -> int:
    """Return the number that the user entered. 0 for any other text, and for a huge number."""
    digits = text.strip()
    if not digits.isdecimal() or len(digits) > MAX_COUNT_DIGITS:
        return 0
    return int(digits)
