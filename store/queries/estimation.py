"""Which items each queue file could have drawn, and with which chance: what makes a review one of a random sample.

Automatic verdicts beside what people settled, as calibration is made of them.

Which items were reviewed because a sample drew them, and which otherwise.

What is known of every item of a run, as an estimate is made of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.address import WHOLE
from fcreview.model.json_value import parse_json
from fcreview.model.review import OWN, ItemKey
from fcreview.model.verdict import SCORING, alike
from fcreview.stats.calibration import Case
from fcreview.stats.estimation_answers import Asked
from fcreview.stats.population import Standing, cell_text
from fcreview.stats.sampling import Sharing
from fcreview.store.filters.keys import ERROR
from fcreview.store.filters.tokens import FilterError
from fcreview.store.queries.agreement import fetch_reviewed_items
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.queues.create import Wanted, fetch_population
from fcreview.store.queues.queue_file import QueueError, QueueFile, QueueItem, read_queues
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT, settled_sql
from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.workspace import Workspace


RUN_KEY_FIELDS = ("benchmark", "generation", "language", "model")
"""What tells a run from others, in keys and in queue files."""
ContentKey = str
"""Key and hashes of an item as JSON text."""


@dataclass(slots=True)
class Sample:
    """A queue file that was drawn afresh, with those that go on with it."""

    queue: QueueFile
    strata: dict[ContentKey, str]
    """Of every item that it could have drawn."""
    files: dict[str, set[ContentKey]]
    """By name of the queue file, and of those that extend it, the items that were drawn."""
    extensions: list[QueueFile] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        return set(self.files)

    @property
    def items(self) -> set[ContentKey]:
        """That were drawn, by one file or another."""
        return set().union(*self.files.values())

    def chance(self, content: ContentKey, own: bool | None) -> float:
        """With which the item was drawn, by the queue or by one that extends it; `own`: its automatic verdict."""
        stratum = self.strata[content]
        chances = {each.name: each.probability for each in self.queue.strata}
        left = 1.0 - chances[stratum]
        key = ItemKey(*orjson.loads(content)[: len(ItemKey._fields)])
        for queue in self.extensions:
            if any(all(run[name] == getattr(key, name) for name in RUN_KEY_FIELDS) for run in queue.design.runs):
                cells = cell_text(stratum, own), cell_text(stratum, own, key.category)
                left *= 1.0 - next((each.probability for each in queue.strata if each.name in cells), 0.0)
        return 1.0 - left


def load_samples(connection: DuckDBPyConnection, workspace: Workspace) -> tuple[list[Sample], list[str]]:
    """The samples that can still be reconstructed, and why others cannot: they are not counted as random."""
    found: dict[str, Sample] = {}
    problems, extending = [], []
    for queue in read_queues(workspace):
        if isinstance(queue, QueueError):
            problems.append(str(queue))
        elif queue.design.extends:
            extending.append(queue)
        else:
            strata = _strata(connection, queue)
            if strata is None:
                problems.append(f"queue {queue.name}: the items it was drawn from are not the same any more")
                continue
            found[queue.name] = Sample(queue, strata, {queue.name: _contents(queue)})
    for queue in sorted(extending, key=lambda each: each.created):
        sample = next((each for each in found.values() if queue.design.extends in each.names), None)
        if sample is None:
            problems.append(f"queue {queue.name}: {queue.design.extends}, which it extends, cannot be used")
            continue
        _extend(sample, queue)
    return list(found.values()), problems


def find_fully_reviewed_draws(workspace: Workspace, known: Set[ContentKey]) -> set[ContentKey]:
    """Items of queue files of which every item is known: nobody chose among them, whether or not reviews name the
    file."""
    files = [_contents(queue) for queue in read_queues(workspace) if not isinstance(queue, QueueError)]
    return set().union(*(items for items in files if items <= known))


def to_content_key(*parts: str | None) -> ContentKey:
    """Of key fields and the two hashes."""
    return orjson.dumps([part or "" for part in parts]).decode()


def _extend(sample: Sample, queue: QueueFile) -> None:
    sample.files[queue.name] = _contents(queue)
    sample.extensions.append(queue)


def _strata(connection: DuckDBPyConnection, queue: QueueFile) -> dict[ContentKey, str] | None:
    """As it was when the queue was made; None if it is not."""
    sizes = {stratum.name: stratum.size for stratum in queue.strata}
    drawn = _contents(queue)
    for runs in (_runs(connection, queue), ()):
        wanted = Wanted(
            queue.name, View(queue.design.where, "dataset", 0, runs), None, queue.design.stratify, Sharing(())
        )
        try:
            strata = fetch_population(connection, wanted)
        except (FilterError, QueueError):
            return None
        if Counter(strata.values()) == sizes and drawn <= strata.keys():
            return strata
    return None


def _runs(connection: DuckDBPyConnection, queue: QueueFile) -> tuple[int, ...]:
    """Those that it was drawn from, by what they are."""
    drawn = {tuple(run[name] for name in RUN_KEY_FIELDS) for run in queue.design.runs}
    rows = connection.execute(f"SELECT run, {', '.join(RUN_KEY_FIELDS)} FROM runs ORDER BY run").fetchall()
    return tuple(run for run, *of in rows if tuple(of) in drawn)


def _contents(queue: QueueFile) -> set[ContentKey]:
    return {_content(item) for item in queue.items}


def _content(item: QueueItem) -> ContentKey:
    return to_content_key(*item.key, item.prediction_hash, item.golden_hash)


_PEOPLE = f"SELECT item, target, criterion, human FROM human_labels WHERE {settled_sql('decided_by')}"
_SAID = """
SELECT i.item, r.benchmark, i.category, i.diff_function, {error}, i.official, i.rule, i.judge,
       list_transform(i.verdicts, lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"])
{table} JOIN runs r ON r.run = i.run WHERE h.item IS NOT NULL AND ({where}) ORDER BY i.item
"""
_SETTLED = f"""
SELECT i.item, r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, '')
FROM human h JOIN item_rows i ON i.item = h.item JOIN runs r ON r.run = i.run
WHERE h.verdict IS NOT NULL AND {settled_sql("h.decided_by")}
"""
_FILE = ".json"
"""How a verdict's `by` ends that names the score file, not how it was found."""


def fetch_calibration_cases(connection: DuckDBPyConnection, workspace: Workspace, reviews: ReviewTables, view: View) -> list[Case]:
    """One an automatic verdict on something that people settled (adjudicated, else unanimous, or by the policy of the
    reviews), in the order of items. FilterError for a filter that is not understood."""
    whole = _of_whole_files(connection, workspace)
    drawn = {
        of.item: of.item in whole or bool(reviews.events.source_queues(of.key, *of.hashes))
        for of in fetch_reviewed_items(connection, reviews, view)
    }
    people: defaultdict[int, dict[tuple[str, str], Any]] = defaultdict(dict)
    for item, target, criterion, human in connection.execute(_PEOPLE).fetchall():
        if human is not None:
            people[item][target, criterion] = orjson.loads(human)
    where, params, _ = build_condition(view, blind=False)
    rows = connection.execute(_SAID.format(error=ERROR, table=FROM_ITEMS, where=where), params).fetchall()
    found = []
    for item, benchmark, category, function, error, *own, listed in rows:
        if item not in people or item not in drawn:
            continue
        for (source, judge, target, criterion, tier), value in _automatic(own, listed or []).items():
            human = people[item].get((target, criterion))
            if human is None or value is None:
                continue
            about = (benchmark, category, tier, error, function)
            found.append(Case(item, source, judge, criterion, value, human, drawn[item], *about))
    return found


def _of_whole_files(connection: DuckDBPyConnection, workspace: Workspace) -> set[int]:
    """Settled items of queue files that are settled whole: a random sample, though no review may say so."""
    contents = {item: to_content_key(*content) for item, *content in connection.execute(_SETTLED).fetchall()}
    whole = find_fully_reviewed_draws(workspace, set(contents.values()))
    return {item for item, content in contents.items() if content in whole}


def _automatic(own: list[Any], listed: list[list[str]]) -> dict[tuple[str, str | None, str, str, str | None], Any]:
    """{(source, judge, target, criterion, tier): value}"""
    found: dict[tuple[str, str | None, str, str, str | None], Any] = {}
    for source, target, criterion, text, by in listed:
        judge = (by or "judge") if source == "judge" else None
        tier = None if source == "judge" or not by or by.endswith(_FILE) else by
        found[source, judge, target, criterion, tier] = parse_json(text)
    for source, value in zip(SCORING, own, strict=True):  # an importer may give the item's own verdict only so
        same = any((each[0], each[2:4]) == (source, OWN) and alike(said, value) for each, said in found.items())
        if value is not None and not same:
            found[source, "judge" if source == "judge" else None, *OWN, None] = value
    return found


@dataclass(frozen=True, slots=True)
class SettledSelection:
    """Of settled items; no item is in both."""

    random: set[ContentKey]
    unknown: set[ContentKey]
    """Settled otherwise, where what was chosen like a sample's items is not recorded."""


def classify_settled(samples: Sequence[Sample], found_in: Mapping[ContentKey, set[str]], among: Set[ContentKey]) -> SettledSelection:
    """`found_in`: of what people settled, the queue files that it was found in; `among`: items that it can be said
    of."""
    each = [_of(sample, found_in, among) for sample in samples]
    random = set().union(*(one.random for one in each))
    return SettledSelection(random, set().union(*(one.unknown for one in each)) - random)


def _of(sample: Sample, found_in: Mapping[ContentKey, set[str]], among: Set[ContentKey]) -> SettledSelection:
    """Found in the sample's queue; or, where reviews do not name it, if a whole file is settled, so that nobody chose
    among its items. Then what else is settled may hold some that were chosen, and would have been in the sample or not:
    the sample speaks for those too."""
    known = sample.strata.keys() & found_in.keys()
    named = {content for content in known & sample.items if not sample.names.isdisjoint(found_in[content])}
    whole = set().union(*(items & among for items in sample.files.values() if items & among <= known))
    random = named | whole
    return SettledSelection(random, known - random if whole - named else set())


_ITEMS = f"""
SELECT r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {AUTOMATIC_VERDICT},
       CASE WHEN {settled_sql("h.decided_by")} THEN h.verdict END, i.item
FROM item_rows i JOIN runs r ON r.run = i.run LEFT JOIN human h ON h.item = i.item
WHERE i.run = ? ORDER BY i.seq
"""
_ANSWERS = f"""
SELECT h.item, h.criterion, CASE WHEN {settled_sql("h.decided_by")} THEN h.human END
FROM human_labels h JOIN item_rows i ON i.item = h.item
WHERE i.run = ? AND h.target IN {WHOLE} AND (h.target, h.criterion) <> {OWN} AND h.n_verdicts > 0
"""
"""What was said of whole items besides whether they pass; values as JSON text, null if not settled."""
_OPEN_TO = f"""
SELECT i.item FROM item_rows i
WHERE i.run = ? AND len(list_filter(i.verdicts, lambda v: v.target IN {WHOLE} AND v.criterion = ?)) > 0
"""
"""Items of which the benchmark itself says something on a criterion."""


@dataclass(frozen=True, slots=True)
class Standings:
    items: list[Standing]
    """In dataset order."""
    contents: list[ContentKey]
    """Of the same items."""
    samples: list[Sample]
    """Those that could draw items of this run."""
    problems: list[str]
    """Why a queue file is no random sample."""
    asked: list[Asked]
    """What was said of the same items on other criteria."""


def fetch_sample_status(connection: DuckDBPyConnection, workspace: Workspace, reviews: ReviewTables, run: int) -> Standings:
    rows = connection.execute(_ITEMS, [run]).fetchall()
    contents = [to_content_key(*row[:8]) for row in rows]
    usable, problems = load_samples(connection, workspace)
    there = set(contents)
    usable = [sample for sample in usable if not there.isdisjoint(sample.strata)]
    numbers = {row[10]: content for content, row in zip(contents, rows, strict=True)}
    answers = _answers(connection, run, numbers)
    spoken = {content for given in answers.values() for content in given}
    found_in = {
        content: reviews.events.source_queues(ItemKey(*row[:6]), row[6], row[7])
        for content, row in zip(contents, rows, strict=True)
        if usable and (row[9] is not None or content in spoken)  # without a sample journals need not be read
    }
    known = {content for content, row in zip(contents, rows, strict=True) if row[9] is not None}
    drawn = classify_settled(usable, {content: names for content, names in found_in.items() if content in known}, there)
    reviewed = {content for sample in usable for content in sample.items & found_in.keys()}
    items = []
    for content, row in zip(contents, rows, strict=True):
        of = [sample for sample in usable if content in sample.strata]
        stratum = tuple(sample.strata.get(content) for sample in usable) if of else None
        chance = 1 - prod(1 - sample.chance(content, row[8]) for sample in of)
        how = content in drawn.random, content in drawn.unknown
        items.append(Standing(row[4], row[8], row[9], stratum, chance, *how, reviewed=content in reviewed))
    asked = []
    for criterion, given in sorted(answers.items()):
        open_to = {numbers[item] for (item,) in connection.execute(_OPEN_TO, [run, criterion]).fetchall()}
        found = {content: found_in.get(content, set()) for content, value in given.items() if value is not None}
        asked.append(_asked(criterion, given, contents, classify_settled(usable, found, open_to)))
    return Standings(items, contents, usable, problems, asked)


def _answers(connection: DuckDBPyConnection, run: int, of: Mapping[int, ContentKey]) -> dict[str, dict[ContentKey, Any]]:
    """Criterion -> of each item that was spoken of what was settled, None if nothing was."""
    found: dict[str, dict[ContentKey, Any]] = {}
    for item, criterion, text in connection.execute(_ANSWERS, [run]).fetchall():
        found.setdefault(criterion, {})[of[item]] = parse_json(text)
    return found


def _asked(criterion: str, given: Mapping[ContentKey, Any], contents: Sequence[ContentKey], how: SettledSelection) -> Asked:
    return Asked(
        criterion,
        settled=[given.get(content) for content in contents],
        spoken=[content in given for content in contents],
        random=[content in how.random for content in contents],
        spoken_for=[content in how.unknown for content in contents],
    )
