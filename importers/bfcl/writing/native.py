"""BFCL's score files by what people say: entries of items that pass now go, of items that fail now come, in the order
of the results; the header counts anew. Leaderboard tables are over all models and made by the official program.

Source: `eval_runner.py` and `save_eval_results` of the official program, V1 to V4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

from fcreview.figures import Scored
from fcreview.importers.bfcl import files
from fcreview.importers.bfcl.joining.cases import Category
from fcreview.importers.bfcl.locate import Categories
from fcreview.importers.bfcl.read import joined_category
from fcreview.importers.bfcl.writing.entry import entry
from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.lines import Edits, counted, edited, first_line, in_order
from fcreview.importers.common.writing.said import changed, only_own, own, without_place
from fcreview.plan import NoPlace, Rewritten, RunPlan

LEADERBOARD = re.compile(r"data(_[a-z_]+)?\.csv")


def rewrite(plan: RunPlan, rows: Sequence[Scored]) -> Iterator[Rewritten | NoPlace]:
    categories: Categories = plan.private
    yield from without_place(rows, only_own)
    for name, parts in categories.items():
        said = changed(row for row in rows if row.category == name)
        if not said:
            continue
        if not parts.scores:
            yield NoPlace(f"items of {name}, which has no score file", len(said))
            continue
        category = joined_category(plan, name, parts)
        if category.scores is None or category.scores.failures is None:
            yield NoPlace(f"items of {name}, whose score file has no header", len(said))
            continue
        right = sum(own(row) is True for row in said)
        if right and not category.passes:  # who is not listed is then no pass
            yield NoPlace(f"passes of {name}, whose score file's count does not fit its entries or results", right)
        path = parts.scores[0]
        raw = read_whole(path)
        edits = _edits(plan, category, said)
        edits.replaced[first_line(raw)] = _header(category.scores.header, said)
        yield Rewritten(path, edited(raw, edits))


def summaries(plan: RunPlan) -> list[Path]:
    """The leaderboard tables beside the model folders."""
    folders = dict.fromkeys(files.model_folder(path).parent for path in plan.scores)
    return [path for folder in folders for path in sorted(folder.glob("data*.csv")) if LEADERBOARD.fullmatch(path.name)]


def _edits(plan: RunPlan, category: Category, said: Sequence[Scored]) -> Edits:
    failing = category.scores.failing if category.scores else {}
    order = in_order(list(category.found.found) or list(category.data.cases))
    edits = Edits(places={each.line: order[name] for name, each in failing.items() if name in order})
    last = len(order)
    for row in said:
        if own(row) and row.id in failing:
            again = category.scores.again.get(row.id, []) if category.scores else []
            edits.gone.update(each.line for each in (failing[row.id], *again))
        elif not own(row) and row.id not in failing:
            edits.added.append((order.get(row.id, last), entry(plan, category, row)))
    return edits


def _header(header: dict[str, Any], moved: Sequence[Scored]) -> dict[str, Any]:
    """Format sensitivity has a count for each configuration and their spread besides."""
    found = counted(header, sum(1 if own(row) else -1 for row in moved))
    for row in moved:
        config = row.setting
        if config is not None and isinstance(found.get(config), dict):
            found[config] = counted(found[config], 1 if own(row) else -1)
    before, after = _spread(header), _spread(found)
    for name in before.keys() & header.keys():
        stated = header[name]
        if isinstance(stated, (int, float)) and abs(stated - before[name]) < 0.01:
            found[name] = round(after[name], 2) if stated == round(stated, 2) else after[name]
        else:  # made in a way that is not known: better none than a wrong one
            found.pop(name)
    return found


def _spread(header: dict[str, Any]) -> dict[str, float]:
    """In points of a percentage, see `figures.formats`."""
    values = [100 * each["accuracy"] for each in header.values() if isinstance(each, dict) and "accuracy" in each]
    if not values:
        return {}
    deviation = stdev(values) if len(values) > 1 else 0.0
    return {
        "accuracy_max_delta": max(values) - min(values),
        "accuracy_variance": deviation**2,
        "accuracy_std": deviation,
    }
