"""Find the items of the dataset that a run has no result for, category by category."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.bfcl import filenames
from fcreview.importers.common.not_run import MAX_MISSING_ITEMS, MAX_UNKNOWN_SHARE, list_some
from fcreview.model.item import MissingItem, RunFact
from fcreview.run_plan import RunPlan

_CATEGORIES_OF_SHARED_FILE = {
    "memory": ("memory_kv", "memory_vector", "memory_rec_sum"),
    "web_search": ("web_search_base", "web_search_no_snippet"),
}
"""Question file -> categories that use it."""


@dataclass(frozen=True, slots=True)
class CategoryContents:
    """What a run and its dataset have of one category."""

    name: str
    item_ids: Collection[str]
    """Ids of the run's items."""
    dataset_ids: Collection[str]
    has_results: bool
    matches_dataset: bool

    @property
    def expected_ids(self) -> list[str]:
        """Ids of the items that a complete run has, in dataset order."""
        return [filenames.to_item_id(dataset_id, self.name) for dataset_id in self.dataset_ids]

    def explain_unknown_items(self) -> str:
        """Return why the dataset does not tell which items are missing; empty if it does."""
        if not self.has_results:
            return "only a score file"
        if self.name in filenames.UNSCORED_CATEGORIES:
            return "not scored"
        if self.name == "format_sensitivity":
            return "its items depend on the prompt formats"
        if not self.dataset_ids:
            return "no dataset"
        if not self.matches_dataset:
            return "the dataset is of another version"
        known = set(self.expected_ids)
        n_unknown = sum(item_id not in known for item_id in self.item_ids)
        if n_unknown > MAX_UNKNOWN_SHARE * len(self.item_ids):
            return f"{n_unknown:,} results are not in the dataset"
        return ""


@dataclass(slots=True)
class RunCoverage:
    """The items that a complete run has, as far as the dataset tells.

    Filled category by category.
    """

    n_expected: int = 0
    counted_categories: list[str] = field(default_factory=list)
    uncounted_categories: dict[str, str] = field(default_factory=dict)
    """Category whose items the dataset does not tell -> reason."""
    _n_missing: int = 0

    def add_all(self, other: RunCoverage) -> None:
        """Add the coverage of other categories."""
        self.n_expected += other.n_expected
        self.counted_categories += other.counted_categories
        self.uncounted_categories |= other.uncounted_categories
        self._n_missing += other._n_missing

    @property
    def has_unlisted_items(self) -> bool:
        """Whether perhaps not all items without a result are listed."""
        return self._n_missing >= MAX_MISSING_ITEMS

    def add_category(self, contents: CategoryContents) -> Iterator[MissingItem]:
        """Count the items of a category, and yield those that the run has no result for."""
        reason = contents.explain_unknown_items()
        if reason:
            self.uncounted_categories[contents.name] = reason
            self.n_expected += len(contents.item_ids)
            return

        self.counted_categories.append(contents.name)
        self.n_expected += len(contents.dataset_ids)
        for item_id in contents.expected_ids:
            if item_id not in contents.item_ids and self._n_missing < MAX_MISSING_ITEMS:
                self._n_missing += 1
                yield MissingItem(item_id, contents.name)

    def make_fact(self, plan: RunPlan) -> RunFact | None:
        """Return the number of expected items.

        None if the dataset tells the items of no category.
        """
        if not self.counted_categories:
            return None
        phrases = [self._describe_categories(plan)]
        if self.uncounted_categories:
            reasons = [f"{name} ({reason})" for name, reason in self.uncounted_categories.items()]
            phrases.append(f"not compared with the dataset: {list_some(reasons)}")
        return RunFact("expected_items", value=self.n_expected, reason="; ".join(phrases))

    def _describe_categories(self, plan: RunPlan) -> str:
        """Say which categories of the dataset the run has: `all 5 categories of the dataset`, or
        `3 of 5 categories of the dataset; no results for java, rest`.
        """
        categories = []
        if plan.run.dataset:
            categories = list_dataset_categories(Path(plan.run.dataset), plan.run.generation)
        missing_names = [
            category.name for category in categories if not self._covers(category, plan)
        ]
        n_covered = len(categories) - len(missing_names)
        if missing_names:
            return (
                f"{n_covered} of {len(categories)} categories of the dataset; no results for"
                f" {list_some(missing_names)}"
            )
        if n_covered > 1:
            return f"all {n_covered} categories of the dataset"
        return "the category of the dataset"

    def _covers(self, category: DatasetCategory, plan: RunPlan) -> bool:
        """Whether the run has results of a category, maybe under another name of the category."""
        if category.name in self.counted_categories or category.name in self.uncounted_categories:
            return True
        return not category.shares_file and category.questions in plan.data


@dataclass(frozen=True, slots=True)
class DatasetCategory:
    """A scored category of a dataset."""

    name: str
    questions: Path
    shares_file: bool
    """Whether other categories have the same question file, as those of memory do."""


def list_dataset_categories(folder: Path, version: str) -> list[DatasetCategory]:
    """List the scored categories that have a question file in a dataset folder, in the order of the
    leaderboard.
    """
    category_by_name: dict[str, DatasetCategory] = {}
    for path in sorted(folder.glob(filenames.question_file_name(version, "*"))):
        file = filenames.classify_file(path)
        if file is None or file.kind != "question":
            continue
        # One file can have the questions of several categories, such as the kinds of memory.
        names = _CATEGORIES_OF_SHARED_FILE.get(file.category, (file.category,))
        for name in names:
            category_by_name[name] = DatasetCategory(name, path, shares_file=len(names) > 1)

    unscored = (*filenames.UNSCORED_CATEGORIES, "format_sensitivity")
    scored = [category for name, category in category_by_name.items() if name not in unscored]
    position_by_name = filenames.CATEGORY_ORDER
    last = len(position_by_name)
    return sorted(scored, key=lambda category: position_by_name.get(category.name, last))
