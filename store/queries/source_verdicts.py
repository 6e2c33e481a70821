"""Query the verdicts of each automatic source on whole items: official, recomputed, and of each
judge. `fcreview.stats.source_strata` explains what estimates use them for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fcreview.model.json_value import parse_json
from fcreview.model.review import ITEM_CORRECT
from fcreview.stats.source_strata import JudgeRequests, SourceVerdicts
from fcreview.store.judgements import OWN_JUDGE_MARK
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.review_sql import HAS_INCIDENT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.store.rows import View

OFFICIAL = "official"
RECOMPUTED = "recomputed"
UNNAMED_JUDGE = "judge"
MAX_JUDGES = 100
"""Maximum number of judges of a run that are read. Files could name a new judge for each item."""
_ITEM_TARGET, _ITEM_CRITERION = ITEM_CORRECT
_SOURCE_COLUMNS = f"""
i.item, {HAS_INCIDENT}, i.official, i.rule, i.judge,
list_transform(
    list_filter(
        i.verdicts,
        lambda v: v.source = 'judge' AND v.target = '{_ITEM_TARGET}'
                  AND v.criterion = '{_ITEM_CRITERION}'
    ),
    lambda v: [v."by", CAST(v."value" AS VARCHAR)]
)
"""
"""SQL of the number of an item `i`, whether it is an incident, and the values of a `SourceRow`."""
_OWN_VERDICTS = f"""
SELECT item, judge, verdict FROM judgements
WHERE NOT stale AND target = '{_ITEM_TARGET}' AND criterion = '{_ITEM_CRITERION}'
      AND left("time", $length) <= $until AND item IN (SELECT unnest($items::BIGINT[]))
"""
_UNDECIDED = """
SELECT item, judge, is_example FROM undecided_judgements
WHERE left("time", $length) <= $until AND item IN (SELECT unnest($items::BIGINT[]))
"""
_NO_LIMIT = "9999"
"""Time that is later than every verdict."""
_CHARS_UP_TO_SECONDS = len("2026-01-31T12:00:00")


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
        """Return the verdict of each source by the source's name. None for a judge with both
        passing and failing verdicts.
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
        f"SELECT {_SOURCE_COLUMNS} {FROM_ITEMS} WHERE i.run = ? ORDER BY i.seq", [run]
    ).fetchall()
    return _collect_all_sources(connection, rows, until=_NO_LIMIT)


def fetch_source_verdicts_of_view(
    connection: Connection, view: View, until: str = ""
) -> list[SourceVerdicts]:
    """Return the sources that have a verdict on an item of a view, in dataset order.

    `until`: time after which verdicts of `fcreview judge` do not count; empty for no limit. The
    strata of a sample then stay the same if the judge is asked again.
    """
    where, params, _ = build_view_condition(view, blind=False)
    rows = connection.execute(
        f"SELECT {_SOURCE_COLUMNS} {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where}"
        " ORDER BY i.item",
        params,
    ).fetchall()
    return _collect_all_sources(connection, rows, until=until or _NO_LIMIT)


def _collect_all_sources(
    connection: Connection, rows: Iterable[Sequence[Any]], until: str
) -> list[SourceVerdicts]:
    """Return the sources in the files of the runs, then the judges of `fcreview judge`."""
    items = []
    source_rows = []
    incidents = set()
    for item, is_incident, *values in rows:
        items.append(item)
        source_rows.append(SourceRow(*values))
        if is_incident:
            incidents.add(item)
    own_judges = _fetch_own_judges(connection, items, until)
    return collect_source_verdicts(source_rows) + [
        judge.build_source(items, incidents) for judge in own_judges
    ]


@dataclass(slots=True)
class _OwnJudge:
    """A judge of `fcreview judge`, with its verdicts and failures by item number."""

    name: str
    verdicts: dict[int, bool] = field(default_factory=dict)
    failures: set[int] = field(default_factory=set)
    examples: set[int] = field(default_factory=set)

    def build_source(self, items: Sequence[int], incidents: Collection[int]) -> SourceVerdicts:
        """Return the verdicts of the judge in the order of `items`. For an incident, no request to
        the judge is missing, because the judge is not asked about incidents.
        """
        known = self.verdicts.keys() | self.failures | self.examples | set(incidents)
        requests = JudgeRequests(
            is_missing=[item not in known for item in items],
            is_example=[item in self.examples for item in items],
        )
        verdicts = [self.verdicts.get(item) for item in items]
        return SourceVerdicts(format_own_judge(self.name), verdicts, requests)


def format_own_judge(name: str) -> str:
    """Return the name of a judge of `fcreview judge` as a source: `judge oak (fcreview)`."""
    return f"judge {name} ({OWN_JUDGE_MARK})"


def is_own_judge(source_name: str) -> bool:
    """Whether a source is a judge of `fcreview judge`, whose verdicts can be hidden."""
    return source_name.endswith(f"({OWN_JUDGE_MARK})")


def _fetch_own_judges(connection: Connection, items: Sequence[int], until: str) -> list[_OwnJudge]:
    """Return the judges of `fcreview judge` with a verdict on one of the items, by name.

    Verdicts after the time `until` do not count. Times are compared as texts, up to their seconds,
    because the times of queues have no fraction.
    """
    judges: dict[str, _OwnJudge] = {}
    values = {
        "items": items,
        "until": until[:_CHARS_UP_TO_SECONDS],
        "length": _CHARS_UP_TO_SECONDS,
    }
    for item, name, verdict in connection.execute(_OWN_VERDICTS, values).fetchall():
        judges.setdefault(name, _OwnJudge(name)).verdicts[item] = verdict
    if not judges:
        return []

    for item, name, is_example in connection.execute(_UNDECIDED, values).fetchall():
        if name not in judges:
            continue
        if is_example:
            judges[name].examples.add(item)
        else:
            judges[name].failures.add(item)
    return [judges[name] for name in sorted(judges)]


def collect_source_verdicts(rows: Iterable[SourceRow]) -> list[SourceVerdicts]:
    """Return the sources with a verdict: official, recomputed, then the judges by name."""
    verdicts_by_item = [row.find_verdicts() for row in rows]
    n_verdicts: Counter[str] = Counter()
    for verdicts in verdicts_by_item:
        n_verdicts.update(name for name, verdict in verdicts.items() if verdict is not None)

    fixed_names = [name for name in (OFFICIAL, RECOMPUTED) if n_verdicts.pop(name, 0)]
    # The other sources are judges. Of many judges, those with the most verdicts are returned.
    judge_names = [name for name, _ in n_verdicts.most_common(MAX_JUDGES)]
    names = fixed_names + sorted(judge_names)
    sources = []
    for name in names:
        verdicts_of_source = [verdicts.get(name) for verdicts in verdicts_by_item]
        sources.append(SourceVerdicts(name, verdicts_of_source))
    return sources
