"""Words and tables of the clusters of failing items: why items fail, how many, and where.

`fcreview triage`, the screen of clusters and the report show the same groups with these words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fcreview.matching.clusters import (
    BY_DECISIVE_STEP,
    BY_ERROR_TYPE,
    BY_VALUE,
    GROUPING_HEADINGS,
    GROUPINGS,
    NO_ERROR_TYPE,
    SUBDIVISIONS,
    UNNAMED_GROUPS,
    Cluster,
    ClusterGroup,
    Grouping,
    describe_cluster,
    explain_group,
    format_share,
    group_by_shared_name,
    select_clusters_with_subdivision,
    summarize_group,
)
from fcreview.model.incident import describe_incident, format_incident_title
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import INCIDENT_PREFIX, describe_error_type, format_count
from fcreview.tables.table import SEPARATOR, Bar, Cell, Column, Cut, Row, Table, make_row

COUNT_TITLE = "items"
SHARE_TITLE = "share"
CODE_TITLE = "error type"
EXAMPLES_TITLE = "examples"
BAR_COLUMN = 2
"""Index of the column before which bars are drawn: after the count and the share."""
INDENT = "  "
"""Indentation of the name of a cluster below its group."""
NAME_COLUMN = 2
"""Index of the column with the names of groups and clusters."""
MIN_NAME_CELLS = 20
MIN_ID_LIST_CELLS = 27
"""Width of a long item id, such as `multi_turn_long_context_123`, so that it can be copied."""
MAX_EXAMPLES = 3
MAX_SUBGROUPS = 3
"""Maximum number of subgroups that are listed below a group."""
MIN_SUBGROUP_SHARE = 0.1
"""Share of a group's items, from 0 to 1, that all subgroups but the largest need to be listed."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """Row of a table of clusters: a group of clusters, or a cluster of an unfolded group."""

    group: ClusterGroup
    cluster: Cluster | None = None

    @property
    def n_failures(self) -> int:
        """Number of failing items in the group or cluster."""
        return self.group.count if self.cluster is None else self.cluster.count

    @property
    def filter_terms(self) -> tuple[str, ...]:
        """Filter terms that select the items of the group or cluster."""
        if self.cluster is None:
            return self.group.filter_terms
        terms = (*self.cluster.terms, self.cluster.scope_term)
        return tuple(term for term in dict.fromkeys(terms) if term)


def list_cluster_rows(
    groups: Sequence[ClusterGroup], unfolded_terms: set[str] | None = None
) -> list[ClusterRow]:
    """Return the rows of the groups. `unfolded_terms`: filter terms of the unfolded groups."""
    rows = []
    for group in groups:
        rows.append(ClusterRow(group))
        if unfolded_terms and group.term in unfolded_terms:
            rows += [ClusterRow(group, cluster) for cluster in group.clusters]
    return rows


def is_unfoldable(group: ClusterGroup) -> bool:
    return len(group.clusters) > 1


# -- words


def name_group(group: ClusterGroup, grouping: Grouping) -> str:
    """Return the name of a group, such as its error type. A group without a name has the failures
    that do not share the property: `(no function)`, or `(fails by a review)`.
    """
    if group.name:
        return sanitize(group.name)
    # Only automatic verdicts have an error type, so the title says why the others have none.
    if grouping == BY_ERROR_TYPE:
        return f"({group.title})"
    return UNNAMED_GROUPS[grouping]


def format_error_type_title(error_type: str) -> str:
    """Return the meaning of an error type, or the error type itself if its meaning is unknown.

    For an incident, return a short title such as `No answer: rate limit`, because the sentences of
    several kinds begin alike.
    """
    if error_type.startswith(INCIDENT_PREFIX):
        return format_incident_title(error_type.removeprefix(INCIDENT_PREFIX))
    meaning = describe_error_type(error_type)
    return capitalize(meaning) if meaning else sanitize(error_type)


def capitalize(text: str) -> str:
    """Change the first letter to upper case. The other letters stay, as in `JSON`."""
    return text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class ClusterExplanation:
    text: str
    """What the failures have in common, such as `ERROR_TYPE: MEANING`. Empty if it is unknown."""
    example: str
    """Id and first difference of an item. Empty if there is none."""


def explain_cluster_row(row: ClusterRow, grouping: Grouping) -> ClusterExplanation:
    """Explain the row of a table of clusters, and give an example."""
    # A row is a group of clusters, or one cluster of a group that the reader unfolded.
    example = row.group.example_cluster if row.cluster is None else row.cluster
    example_text = ""
    if example is not None and example.description:
        item_id = sanitize(example.examples[0])
        example_text = f"{item_id}: {sanitize(example.description)}"
    return ClusterExplanation(_explain_cluster(row, grouping), example_text)


def _explain_cluster(row: ClusterRow, grouping: Grouping) -> str:
    """Explain what the failures of a row have in common. Empty if it is unknown."""
    # Failures with the same first difference have only this value in common. Incidents have none.
    is_about_value = grouping == BY_VALUE and not row.group.is_incident
    if is_about_value and row.group.name:
        return f"{GROUPING_HEADINGS[BY_VALUE]}: {sanitize(row.group.name)}"
    if is_about_value:
        return ""

    # The clusters of a decisive step have the meaning of their group.
    if row.cluster is None or grouping == BY_DECISIVE_STEP:
        return explain_group(row.group, grouping)
    # The cluster is explained like a group that contains only this cluster.
    return explain_group(ClusterGroup("", None, [row.cluster]), grouping)


# -- cells


def _make_count_cell(count: int, *, is_group: bool) -> Cell:
    return Cell(f"{count:,}", "strong" if is_group else "")


def _list_first_columns() -> list[Column]:
    return [Column(COUNT_TITLE, align_right=True), Column(SHARE_TITLE, align_right=True)]


def _choose_name_cut(grouping: Grouping) -> Cut:
    """Return how the meanings of error types, pairs of values, and other names are shortened."""
    if grouping in (BY_ERROR_TYPE, BY_DECISIVE_STEP):
        return "word"
    if grouping == BY_VALUE:
        return "value pair"
    return "middle"


# -- table of groups with their meanings


def build_cluster_table(rows: Sequence[ClusterRow], grouping: Grouping, n_failures: int) -> Table:
    """Return the groups of failing items with the same cause: how many, why, and where mostly.

    Groups by error type are named by the meaning of the error type. Only they have a further column
    with the error type itself.

    Args:
        rows: Groups and, below an unfolded group, its clusters.
        n_failures: Number of failing items, of which the shares are parts.
    """
    columns = _list_first_columns()
    columns += _list_cause_columns(grouping)
    # A group is divided further by two properties, such as function and argument.
    outer, inner = SUBDIVISIONS[grouping]
    mostly = f"mostly: {GROUPINGS[outer]}{SEPARATOR}{GROUPINGS[inner]}"
    columns.append(Column(mostly, cut="word", min_cells=12))
    columns.append(Column(EXAMPLES_TITLE, cut="id list", min_cells=24))

    largest = max((row.n_failures for row in rows), default=1)
    names = _name_rows(rows, grouping)
    table_rows = []
    for row, name in zip(rows, names, strict=True):
        cells = _make_cluster_cells(row, name, grouping, n_failures)
        bar = Bar(row.n_failures / largest)
        table_rows.append(Row(cells, graphic=bar))
    return Table(
        columns,
        table_rows,
        title=f"{format_count(n_failures, 'failure')} by {GROUPINGS[grouping]}",
        graphic_at=BAR_COLUMN,
    )


def _list_cause_columns(grouping: Grouping) -> list[Column]:
    """Return the column with the names of the groups and, by error type, that with the types."""
    cut = _choose_name_cut(grouping)
    if grouping == BY_ERROR_TYPE:
        return [
            Column("why", cut=cut, min_cells=MIN_NAME_CELLS),
            Column(CODE_TITLE, cut="error type", min_cells=14),
        ]
    return [Column(GROUPING_HEADINGS[grouping], cut=cut, min_cells=MIN_NAME_CELLS)]


@dataclass(frozen=True, slots=True)
class GroupName:
    """Name of a group, or of a cluster in its group, sanitized."""

    name: str
    code: str = ""
    """Error type whose meaning is the name. Empty if the name is the error type."""
    is_known: bool = True
    """Whether the failures share the property that names the row."""


def _name_rows(rows: Sequence[ClusterRow], grouping: Grouping) -> list[GroupName]:
    """Return the names of the rows, so that no two groups have the same name.

    Different error types can have the same meaning. Then the first word of the error type stands
    before the meaning: `ast: the value has the wrong type`.
    """
    names = []
    for row in rows:
        if row.cluster is None:
            names.append(name_group_by_meaning(row.group, grouping))
        else:
            names.append(_name_single_cluster(row.cluster, grouping))

    n_by_meaning = Counter(name.name for name in names if name.code)
    distinct_names = []
    for name in names:
        is_shared = bool(name.code) and n_by_meaning[name.name] > 1
        distinct_names.append(_add_first_word(name) if is_shared else name)
    return distinct_names


def _add_first_word(name: GroupName) -> GroupName:
    """Put the first word of the error type before the meaning."""
    first_word = re.split(r"[_:\W]", name.code, maxsplit=1)[0]
    meaning = name.name[:1].lower() + name.name[1:]
    return GroupName(f"{first_word}: {meaning}", name.code)


def name_group_by_meaning(group: ClusterGroup, grouping: Grouping) -> GroupName:
    """Return the name of a group. If it is an error type with a known meaning, the meaning is the
    name.
    """
    name = name_group(group, grouping)
    # The names of other groups, such as functions, are no codes with a meaning.
    is_code = grouping in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or group.is_incident
    if not group.name or not is_code:
        return GroupName(name)
    meaning = format_error_type_title(group.name)
    if meaning == name:
        return GroupName(name)
    return GroupName(meaning, code=name)


def _name_single_cluster(cluster: Cluster, grouping: Grouping) -> GroupName:
    """Return the name of a cluster in its group: the first property that divides the group."""
    outer, _ = SUBDIVISIONS[grouping]
    name = cluster.names_by_grouping[outer]
    if name:
        return GroupName(sanitize(name))
    return GroupName(UNNAMED_GROUPS[outer], is_known=False)


def _make_cluster_cells(
    row: ClusterRow, name: GroupName, grouping: Grouping, n_failures: int
) -> list[Cell]:
    """Return the cells of a row: a group in strong type, or a cluster of an unfolded group in
    normal type.
    """
    is_group = row.cluster is None
    share = Cell(format_share(row.n_failures, n_failures), "" if is_group else "dim")
    cells = [_make_count_cell(row.n_failures, is_group=is_group), share]
    cells.append(_make_name_cell(name, is_group=is_group))
    if grouping == BY_ERROR_TYPE:
        cells.append(Cell(name.code, "dim"))
    cells.append(Cell(_summarize_row(row, grouping)))
    examples = _list_example_ids(row)[:MAX_EXAMPLES]
    cells.append(Cell(sanitize(" ".join(examples)), "dim"))
    return cells


def _make_name_cell(name: GroupName, *, is_group: bool) -> Cell:
    """Return the cell with the name of a group or, indented, of a cluster."""
    if is_group:
        return Cell(name.name, "strong")
    return Cell(INDENT + name.name, "" if name.is_known else "dim")


def _summarize_row(row: ClusterRow, grouping: Grouping) -> str:
    """Return what most failures of a group, or all failures of a cluster, have in common otherwise.

    Two properties divide a group. The first one names its clusters, so this is the second one.
    """
    if row.cluster is None:
        return summarize_group(row.group, grouping)
    _, inner = SUBDIVISIONS[grouping]
    return sanitize(row.cluster.names_by_grouping[inner] or "")


def _list_example_ids(row: ClusterRow) -> Sequence[str]:
    """Return the ids of items of a cluster, or one id of each cluster of a group."""
    if row.cluster is not None:
        return row.cluster.examples
    return [cluster.examples[0] for cluster in row.group.clusters if cluster.examples]


# -- table of groups with their parts


def build_failure_table(
    groups: Sequence[ClusterGroup], grouping: Grouping, n_failures: int
) -> Table:
    """Return the groups of failing items, each with its largest parts.

    The explanation of a group is its meaning and an example. `n_failures`: number of failing items,
    of which the shares are parts.
    """
    columns = _list_first_columns()
    name_cut: Cut = "error type"
    if grouping == BY_VALUE:
        name_cut = "value pair"
    columns.append(Column(GROUPING_HEADINGS[grouping], cut=name_cut, min_cells=MIN_NAME_CELLS))
    columns.append(Column(EXAMPLES_TITLE, cut="id list", min_cells=MIN_ID_LIST_CELLS))

    largest = max((group.count for group in groups), default=1)
    rows = []
    for group in groups:
        bar = Bar(group.count / largest)
        rows.append(_build_failure_row(group, grouping, n_failures, bar))
        rows += [_make_subgroup_row(part) for part in _find_subgroups(group, grouping)]
    return Table(columns, rows, graphic_at=BAR_COLUMN, explained_column=NAME_COLUMN)


def _build_failure_row(group: ClusterGroup, grouping: Grouping, n_failures: int, bar: Bar) -> Row:
    """Return the row of a group: its count, its share of all failing items, its name and ids."""
    name = name_group(group, grouping)
    cells = [
        _make_count_cell(group.count, is_group=True),
        Cell(format_share(group.count, n_failures)),
        Cell(name, "strong"),
        Cell(_join_ids(_select_example_ids(group)), "dim"),
    ]
    explanation = "\n".join(_explain_failure_row(group, grouping, name))
    return Row(cells, graphic=bar, explanation=explanation)


def _explain_failure_row(group: ClusterGroup, grouping: Grouping, name: str) -> Iterator[str]:
    """Yield the meaning of the group's error type and an example, without what the row shows."""
    explanation = explain_cluster_row(ClusterRow(group), grouping)
    text = explanation.text
    is_by_value = grouping == BY_VALUE and not group.is_incident
    if is_by_value:
        # The row already shows the value.
        text = ""
    elif grouping in (BY_ERROR_TYPE, BY_DECISIVE_STEP) or group.is_incident:
        # The explanation of an error type begins with its name, which the row shows too.
        text = text.removeprefix(f"{name}: ")
    if text:
        yield text
    if explanation.example:
        yield explanation.example


def _join_ids(item_ids: Sequence[str]) -> str:
    return " ".join(sanitize(item_id) for item_id in item_ids)


def _select_example_ids(group: ClusterGroup) -> list[str]:
    """Return item ids of the largest clusters: first one of each, then others."""
    clusters = group.clusters[:MAX_EXAMPLES]
    examples = [cluster.examples[0] for cluster in clusters if cluster.examples]
    for cluster in clusters:
        examples += cluster.examples[1:]
    return examples[:MAX_EXAMPLES]


@dataclass(frozen=True, slots=True)
class _Subgroup:
    """Items of a group that fail at the same place, such as one argument of a function."""

    name: str
    count: int
    """Number of items."""
    examples: Sequence[str]
    """Item ids."""


def _make_subgroup_row(part: _Subgroup) -> Row:
    """Return the row of a part of a group, indented below the row of the group."""
    cells = [
        _make_count_cell(part.count, is_group=False),
        Cell(""),
        Cell(INDENT + part.name),
        Cell(_join_ids(part.examples[:MAX_EXAMPLES]), "dim"),
    ]
    return Row(cells)


def _find_subgroups(group: ClusterGroup, grouping: Grouping) -> list[_Subgroup]:
    """Find the largest subgroups of items that fail at the same place, such as the argument of a
    function.

    A subgroup has at least two items. Single items with the same argument in different functions
    form a subgroup too.
    """
    subgroups: list[_Subgroup] = []
    single_items: list[Cluster] = []
    for cluster in select_clusters_with_subdivision(group.clusters, grouping):
        if cluster.count > 1:
            subgroups.append(_make_subgroup_of_cluster(cluster, grouping))
        else:
            single_items.append(cluster)
    subgroups += _make_subgroups_of_single_items(single_items, grouping)
    subgroups.sort(key=lambda subgroup: subgroup.count, reverse=True)

    # The largest subgroup is always listed, the next ones only if they are a large part.
    listed_subgroups = subgroups[:1]
    for subgroup in subgroups[1:MAX_SUBGROUPS]:
        if subgroup.count >= MIN_SUBGROUP_SHARE * group.count:
            listed_subgroups.append(subgroup)
    return listed_subgroups


def _make_subgroup_of_cluster(cluster: Cluster, grouping: Grouping) -> _Subgroup:
    # The row of the group already shows the first example of each cluster, so it comes last here.
    examples = [*cluster.examples[1:], *cluster.examples[:1]]
    return _Subgroup(describe_cluster(cluster, grouping), cluster.count, examples)


def _make_subgroups_of_single_items(
    clusters: list[Cluster], grouping: Grouping
) -> Iterator[_Subgroup]:
    """Yield subgroups of clusters that have only one item each, but share a property.

    Each of these failures is unique, but they can be about the same argument, for example.
    """
    outer, inner = SUBDIVISIONS[grouping]
    for name, sharing_clusters in group_by_shared_name(clusters, inner).items():
        count = format_count(len(sharing_clusters), GROUPINGS[outer])
        title = f"{count}{SEPARATOR}{sanitize(name)}"
        # The row of the group already shows the example of the first cluster.
        examples: list[str] = []
        for cluster in sharing_clusters[1:]:
            examples += cluster.examples
        yield _Subgroup(title, len(sharing_clusters), examples)


# -- table of the most frequent reasons


def build_reason_table(groups: Sequence[ClusterGroup], *, heading: str, max_reasons: int) -> Table:
    """Return the most frequent error types with their meanings. The last row counts the others.

    `heading`: title of the column with the meanings.
    """
    columns = [
        Column(COUNT_TITLE, align_right=True),
        Column(heading),
        Column(CODE_TITLE, is_code=True),
    ]
    largest = max((group.count for group in groups), default=1)
    rows = []
    for group in groups[:max_reasons]:
        name = name_group_by_meaning(group, BY_ERROR_TYPE)
        texts = [f"{group.count:,}", name.name, name.code]
        rows.append(make_row(texts, graphic=Bar(group.count / largest)))

    rare_groups = groups[max_reasons:]
    if rare_groups:
        n_rare = sum(group.count for group in rare_groups)
        text = format_count(len(rare_groups), "other error type")
        rows.append(make_row([f"{n_rare:,}", text, ""]))
    return Table(columns, rows, graphic_at=1)


# -- table of clusters with their first items


@dataclass(frozen=True, slots=True)
class ClusterExample:
    """First item of a cluster."""

    id: str
    question: str
    difference: str | None


def build_example_table(clusters: Sequence[Cluster], examples: Sequence[ClusterExample]) -> Table:
    """Return a row for each cluster that has an example. The smallest clusters have none."""
    columns = [
        Column(COUNT_TITLE, align_right=True),
        Column("cluster"),
        Column("example"),
        Column("first difference"),
        Column("question"),
    ]
    rows = []
    for cluster, example in zip(clusters, examples, strict=False):
        rows.append(_build_example_row(cluster, example))
    return Table(columns, rows)


def _build_example_row(cluster: Cluster, example: ClusterExample) -> Row:
    """Return the row of a cluster of failing items, with an example."""
    if cluster.incident is not None:
        name = describe_incident(cluster.incident, None)
        difference = cluster.difference
    else:
        names = [cluster.error_type or NO_ERROR_TYPE, cluster.function, cluster.argument]
        name = SEPARATOR.join(each for each in names if each)
        difference = example.difference or ""
    texts = [name, example.id, difference, example.question]
    return Row([Cell(f"{cluster.count:,}"), *[Cell(sanitize(text)) for text in texts]])
