"""Query the verdicts of each automatic source on whole items: official, recomputed, and of each
judge. `fcreview.stats.source_strata` explains what estimates use them for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.model.json_value import parse_json
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.source_strata import SourceVerdicts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

OFFICIAL = "official"
RECOMPUTED = "recomputed"
UNNAMED_JUDGE = "judge"
MAX_JUDGES = 100
"""Maximum number of judges of a run that are read. Files could name a new judge for each item."""
_ITEM_TARGET, _ITEM_CRITERION = ITEM_CORRECT
SOURCE_COLUMNS = f"""
i.official, i.rule, i.judge,
list_transform(
    list_filter(
        i.verdicts,
        lambda v: v.source = 'judge' AND v.target = '{_ITEM_TARGET}'
                  AND v.criterion = '{_ITEM_CRITERION}'
    ),
    lambda v: [v."by", CAST(v."value" AS VARCHAR)]
)
"""
"""SQL of the values of a `SourceRow`, from an item `i`."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """Verdicts on one item."""

    official: bool | None
    recomputed: bool | None
    judge: bool | None
    """Verdict of the only judge, or of most judges."""
    listed: Sequence[Sequence[str | None]] | None
    """[name, JSON text of the verdict] for each verdict of a judge."""

    def find_verdicts(self) -> dict[str, bool | None]:
        """Return the verdict of each source, by its name. A judge who says both pass and fail has
        none.
        """
        verdicts: dict[str, bool | None] = {OFFICIAL: self.official, RECOMPUTED: self.recomputed}
        for name, verdict in self._list_judge_verdicts():
            is_contradiction = name in verdicts and verdicts[name] is not verdict
            verdicts[name] = None if is_contradiction else verdict
        return verdicts

    def _list_judge_verdicts(self) -> Iterator[tuple[str, bool]]:
        """Yield the name and the verdict of each judge."""
        n_listed = 0
        for name, text in self.listed or ():
            verdict = parse_json(text)
            if isinstance(verdict, bool):
                n_listed += 1
                yield f"judge {name}" if name else UNNAMED_JUDGE, verdict
        # Some importers store the verdict of a judge only in its column.
        if not n_listed and self.judge is not None:
            yield UNNAMED_JUDGE, self.judge


def fetch_source_verdicts(connection: Connection, run: int) -> list[SourceVerdicts]:
    """Return the sources that have a verdict on an item of a run, with one value for each item, in
    dataset order.
    """
    rows = connection.execute(
        f"SELECT {SOURCE_COLUMNS} FROM item_rows i WHERE i.run = ? ORDER BY i.seq", [run]
    ).fetchall()
    return collect_source_verdicts(SourceRow(*row) for row in rows)


def collect_source_verdicts(rows: Iterable[SourceRow]) -> list[SourceVerdicts]:
    """Return the sources with a verdict: official, recomputed, then the judges by name."""
    verdicts_by_item = [row.find_verdicts() for row in rows]
    counts: Counter[str] = Counter()
    for verdicts in verdicts_by_item:
        counts.update(name for name, verdict in verdicts.items() if verdict is not None)

    fixed_names = [name for name in (OFFICIAL, RECOMPUTED) if counts[name]]
    # Of many judges, those with the most verdicts are returned.
    judge_counts = Counter(
        {name: count for name, count in counts.items() if name not in fixed_names}
    )
    judge_names = [name for name, _ in judge_counts.most_common(MAX_JUDGES)]
    names = fixed_names + sorted(judge_names)
    sources = []
    for name in names:
        verdicts_of_source = [verdicts.get(name) for verdicts in verdicts_by_item]
        sources.append(SourceVerdicts(name, verdicts_of_source))
    return sources
