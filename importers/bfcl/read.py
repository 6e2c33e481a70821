"""Read BFCL runs: join results, scores and dataset of each category, and yield items.

If the question or golden answer in a failing score entry differs from the dataset, the item shows
the one in the score entry and gets an issue.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fcreview.errors import MALFORMED_DATA
from fcreview.importers.bfcl import filenames, items, joining
from fcreview.importers.bfcl.dataset import (
    Dataset,
    DatasetFiles,
    DatasetItem,
    load_dataset,
    make_dataset_item,
    merge_datasets,
)
from fcreview.importers.bfcl.decoder_detection import (
    DecoderChoice,
    expect_run_decoder,
    select_category_decoder,
    select_run_decoder,
)
from fcreview.importers.bfcl.discovery import CategoryFiles, FilesByCategory
from fcreview.importers.bfcl.execution.executor import Executor
from fcreview.importers.bfcl.execution.recompute import open_executor
from fcreview.importers.bfcl.items import GoldenCorrector
from fcreview.importers.bfcl.joining import is_same_golden_answer, is_same_question
from fcreview.importers.bfcl.not_run import CategoryContents, RunCoverage
from fcreview.importers.bfcl.quoted_replies import QuotedReplies, make_other_reply_issue
from fcreview.importers.bfcl.scores import ScoreEntry, ScoreFile, load_score_file
from fcreview.importers.common.file_cache import file_stamp
from fcreview.importers.common.jsonl import JsonRecord, read_first_record
from fcreview.importers.common.records import as_object, make_missing_records_issue
from fcreview.model.item import ImportIssue, Item, PartSummary, ReadRecord, RunFact
from fcreview.run_plan import DependentParts, RunPart, RunPlan, group_into_parts

_WITHOUT_GOLDEN = ("relevance", "rest", "chatable", "sql")


@dataclass(slots=True)
class JoinedCategory:
    """Results, scores and dataset of one category of a run."""

    context: items.CategoryContext
    dataset: Dataset
    results: joining.Results
    scores: ScoreFile
    knows_passes: bool = False
    """Whether items without a score entry passed officially.

    If false, their official verdict is unknown.
    """
    has_derived_ids: bool = False
    """Whether item ids differ from the dataset's ids."""
    matches_dataset: bool = True
    """Whether the score entries quote the questions of the dataset.

    If not, the dataset is ignored.
    """
    has_scores_of_other_replies: bool = False
    """Whether most score entries of the run quote other replies, so that its official verdicts
    are unknown.
    """
    items_with_other_reply: set[str] = field(default_factory=set)
    """Ids of the items whose score entry quotes another reply than the result file contains."""
    n_read: int = 0
    """Number of items that were read."""
    n_without_question: int = 0
    """Number of items that are not in the dataset."""
    n_without_answer: int = 0
    """Number of items with a question but no golden answer in the dataset, in a category with
    golden answers.
    """
    issues: list[ImportIssue] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChosenItem:
    """The dataset item for a result record, with the issues of the choice."""

    item: DatasetItem
    issues: list[ImportIssue] = field(default_factory=list)


def choose_dataset_item(
    category: JoinedCategory, item_id: str, entry: ScoreEntry | None, path: str, line: int
) -> ChosenItem:
    """Choose the question and the golden answer for an item of a run, from the dataset or from the
    score entry.

    The score entry of a failing item quotes the question and the golden answer with which the item
    was scored. If they differ from those in the dataset, the quoted ones are used.

    Args:
        category: The joined files of the category. Counts the items that the dataset lacks.
        item_id: Id of the item.
        entry: The score entry of the item, if it has one.
        path: File of the item's record, for issues.
        line: Line of the item's record, for issues.
    """
    dataset_id = item_id
    if category.has_derived_ids:
        dataset_id = filenames.to_dataset_id(item_id, category.context.category)
    if not category.matches_dataset:
        return ChosenItem(_make_item_from_entry(category, dataset_id, entry))

    item = category.dataset.items.get(dataset_id)
    if item is None:
        category.n_without_question += 1
        issues = []
        if category.dataset.items:
            what = f"{dataset_id} is not in the dataset"
            issues.append(ImportIssue(path, line, what=what, item=item_id))
        return ChosenItem(_make_item_from_entry(category, dataset_id, entry), issues)

    lacks_golden_answer = item.ground_truth is None and _needs_golden_answer(
        category.context.category
    )
    if entry is None:
        if lacks_golden_answer:
            category.n_without_answer += 1
        return ChosenItem(item)
    return _choose_dataset_or_quoted_item(
        category, item, item_id, entry, lacks_golden_answer=lacks_golden_answer
    )


def _choose_dataset_or_quoted_item(
    category: JoinedCategory,
    item: DatasetItem,
    item_id: str,
    entry: ScoreEntry,
    *,
    lacks_golden_answer: bool,
) -> ChosenItem:
    """Choose between the item of the dataset and what the score entry of the item quotes.

    Args:
        category: The joined files of the category. Counts the items without a golden answer.
        item: The item of the dataset.
        item_id: The id of the item in the run, for issues. It can differ from that in the dataset.
        entry: The score entry.
        lacks_golden_answer: Whether the item needs a golden answer that the dataset does not have.
    """
    if _quotes_other_question(entry, item):
        return _replace_item_by_entry(category, item, item_id, entry, different_part="question")

    if lacks_golden_answer:
        category.n_without_answer += 1
        if "possible_answer" not in entry.record:
            return ChosenItem(item)
        # The entry adds to the dataset and contradicts nothing, so there is no issue.
        return ChosenItem(_make_item_from_entry(category, item.id, entry, item))

    if _quotes_other_golden_answer(entry, item):
        return _replace_item_by_entry(
            category, item, item_id, entry, different_part="golden answer"
        )
    return ChosenItem(item)


def _quotes_other_question(entry: ScoreEntry, item: DatasetItem) -> bool:
    question = entry.quoted_question
    return question is not None and not is_same_question(item.turns, question)


def _quotes_other_golden_answer(entry: ScoreEntry, item: DatasetItem) -> bool:
    if "possible_answer" not in entry.record:
        return False
    return not is_same_golden_answer(item.ground_truth, entry.record["possible_answer"])


def _needs_golden_answer(category: str) -> bool:
    return not any(word in category for word in _WITHOUT_GOLDEN)


def _replace_item_by_entry(
    category: JoinedCategory,
    item: DatasetItem,
    item_id: str,
    entry: ScoreEntry,
    *,
    different_part: str,
) -> ChosenItem:
    """Make an item from a score entry that quotes another question or golden answer, and report
    that it differs from the dataset.
    """
    what = (
        f"the {different_part} in the score file differs from the dataset. The item shows the one"
        " in the score file"
    )
    issue = ImportIssue(str(category.scores.path), entry.line, what=what, item=item_id)
    return ChosenItem(_make_item_from_entry(category, item.id, entry, item), [issue])


def _make_item_from_entry(
    category: JoinedCategory,
    dataset_id: str,
    entry: ScoreEntry | None,
    item: DatasetItem | None = None,
) -> DatasetItem:
    """Make a dataset item from what a score entry quotes: the question and the golden answer.

    Without an entry, or if it is malformed, the item is empty. An entry without function docs gets
    those of `item`, the item of the dataset.
    """
    item_category = category.context.category
    # Format sensitivity repeats items of other categories, which their ids name.
    if item_category == "format_sensitivity":
        item_category = filenames.get_id_category(dataset_id)
    if entry is None:
        return DatasetItem(dataset_id, item_category)

    question = _read_quoted_record(entry)
    answer = None
    if "possible_answer" in entry.record:
        answer = {"ground_truth": entry.record["possible_answer"]}
    functions = _choose_functions(question, item)
    try:
        return make_dataset_item(dataset_id, item_category, question, answer, functions)
    except MALFORMED_DATA:
        return DatasetItem(dataset_id, item_category)


def _read_quoted_record(entry: ScoreEntry) -> dict[str, Any]:
    """Return the dataset record in a score entry. Agentic entries may have only the question."""
    prompt = entry.record.get("prompt")
    if isinstance(prompt, dict):
        return prompt
    if isinstance(prompt, list):
        return {"question": prompt}
    return {}


def _choose_functions(
    record: dict[str, Any], item: DatasetItem | None
) -> list[dict[str, Any]] | None:
    """Return the function docs that replace those of a quoted record; None to keep its own."""
    if "function" in record:
        return None
    if item is not None:
        return item.functions
    # Such a record needs the function docs of classes, which score entries do not contain.
    if "involved_classes" in record:
        return []
    return None


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Read the items of a run, category by category, in dataset order.

    Each category that is read adds its accuracy to `plan.run.official_metrics`.
    """
    categories: FilesByCategory = plan.importer_data
    decoder = select_run_decoder(plan)
    yield decoder.fact
    yield from decoder.issues

    with open_executor(plan) as executor:
        reader = _RunReader(plan, decoder, categories)
        reader.executor = executor
        quoted = reader.compare_quoted_replies()
        if quoted.are_scores_of_other_replies:
            reader.has_scores_of_other_replies = True
            yield quoted.make_issue(plan.run)
            yield quoted.make_fact()
        for name, files in categories.items():
            yield from reader.read_category(name, files)
    fact = reader.coverage.make_fact(plan)
    if fact is not None:
        yield fact


def split_run(plan: RunPlan) -> list[RunPart]:
    """Divide a run into parts that can be read at the same time.

    A part consists of one large category or of several small ones.
    """
    categories: FilesByCategory = plan.importer_data
    n_bytes_by_category = {}
    n_dataset_bytes = 0
    for name, files in categories.items():
        n_own_dataset_bytes = 0
        for dataset_files in files.dataset_files:
            n_own_dataset_bytes += _measure_files(dataset_files.record_paths)
        n_dataset_bytes += n_own_dataset_bytes
        n_run_bytes = _measure_files([*files.results, *files.scores])
        n_bytes_by_category[name] = n_own_dataset_bytes + n_run_bytes

    parts = group_into_parts(n_bytes_by_category)
    if parts:
        # The first part reads the datasets of all categories to compare decoders.
        parts[0] = replace(parts[0], n_bytes=parts[0].n_bytes + n_dataset_bytes)
    return parts


def _measure_files(paths: Sequence[Path]) -> int:
    """Return the size of files in bytes."""
    return sum(file_stamp(path).n_bytes for path in paths)


@dataclass(frozen=True, slots=True)
class PartOfCategories:
    """What reading some categories of a run says about the whole run."""

    decoder_fact: RunFact
    quoted: QuotedReplies
    coverage: RunCoverage


def read_part(plan: RunPlan, part: RunPart) -> Iterator[ReadRecord]:
    """Read the items of some categories of a run.

    The first part alone compares the decoder of a listed model with the replies, because this takes
    long. The scores are assumed to belong to the run's own replies: only all categories together
    show whether they do.
    """
    categories: FilesByCategory = plan.importer_data
    if part.index == 0:
        decoder = select_run_decoder(plan)
        yield decoder.fact
        yield from decoder.issues
    else:
        # The decoder of a model that is not listed is unknown. Then this part compares it, too.
        decoder = expect_run_decoder(plan) or select_run_decoder(plan)

    own_categories = {name: categories[name] for name in part.selection}
    with open_executor(plan) as executor:
        reader = _RunReader(plan, decoder, own_categories)
        reader.executor = executor
        quoted = reader.compare_quoted_replies()
        for name, files in own_categories.items():
            yield from reader.read_category(name, files)
    yield PartSummary(PartOfCategories(decoder.fact, quoted, reader.coverage))


def finish_run(plan: RunPlan, parts: Sequence[PartOfCategories]) -> Iterator[ReadRecord]:
    """Read what follows the items of all categories: the number of expected items.

    Raises DependentParts if another decoder than that of the listed model fits, if the scores
    belong to other replies, or if so many items are missing that not all of them are listed.
    """
    quoted = QuotedReplies()
    coverage = RunCoverage()
    for part in parts:
        quoted.add_all(part.quoted)
        coverage.add_all(part.coverage)
        if part.decoder_fact != parts[0].decoder_fact:
            raise DependentParts
    if quoted.are_scores_of_other_replies or coverage.has_unlisted_items:
        raise DependentParts

    fact = coverage.make_fact(plan)
    if fact is not None:
        yield fact


@dataclass(frozen=True, slots=True)
class LoadedCategory:
    """The files of one category of a run."""

    dataset: Dataset
    results: joining.Results
    scores: ScoreFile


MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Size of the result and score files of a run that are loaded only once. Others are loaded for the
comparison of quoted replies, and again to read their items.
"""


class CategoryLoader:
    """Loads the files of a run's categories."""

    def __init__(self, plan: RunPlan) -> None:
        self._version = plan.run.generation
        self._kept: dict[str, LoadedCategory] = {}
        self._kept_bytes = 0

    def load(self, name: str, files: CategoryFiles) -> LoadedCategory:
        """Load a category, or return it if an earlier call of `load_and_keep` kept it."""
        kept = self._kept.pop(name, None)
        return kept or _load_category(self._version, name, files)

    def load_and_keep(self, name: str, files: CategoryFiles) -> LoadedCategory:
        """Load a category that is needed again, and keep it in memory if its files are small."""
        loaded = _load_category(self._version, name, files)
        size = sum(file_stamp(path).n_bytes for path in (*files.results, *files.scores))
        if self._kept_bytes + size <= MAX_KEPT_BYTES:
            self._kept_bytes += size
            self._kept[name] = loaded
        return loaded


def _load_category(version: str, name: str, files: CategoryFiles) -> LoadedCategory:
    """Load the dataset, the results and the scores of one category of a run.

    Only the first score file is loaded. The others become issues.
    """
    dataset = _load_category_dataset(version, name, files.dataset_files)
    if not files.scores:
        results = joining.load_results(files.results, name, dataset)
        return LoadedCategory(dataset, results=results, scores=ScoreFile())

    score_file, *other_score_files = files.scores
    # The number of scored items in the header shows whether records with one id are several items.
    header = as_object(read_first_record(score_file))
    results = joining.load_results(files.results, name, dataset, header.get("total_count"))
    scores = load_score_file(score_file, name, results, dataset)
    for other in other_score_files:
        what = f"this is another score file of {name}. fcreview imports only {score_file}"
        scores.issues.append(ImportIssue(str(other), what=what))
    return LoadedCategory(dataset, results=results, scores=scores)


def join_category(
    plan: RunPlan, name: str, files: CategoryFiles, decoder: DecoderChoice
) -> JoinedCategory:
    """Load and join results, scores and dataset of a category.

    Also sets its entry in `plan.run.official_metrics`.
    """
    category = _join_loaded_category(
        plan, name, _load_category(plan.run.generation, name, files), decoder
    )
    if files.scores:
        plan.run.official_metrics[name] = category.scores.header
    return category


def compare_quoted_replies(categories: FilesByCategory, loader: CategoryLoader) -> QuotedReplies:
    """Compare the replies in the failing score entries of some categories with the results."""
    quoted = QuotedReplies()
    for name, files in categories.items():
        if files.results and files.scores:
            loaded = loader.load_and_keep(name, files)
            quoted.add_category(name, loaded.results, loaded.scores)
    return quoted


def _join_loaded_category(
    plan: RunPlan, name: str, loaded: LoadedCategory, decoder: DecoderChoice
) -> JoinedCategory:
    """Join the loaded files of one category: choose its decoder, and check whether the scores and
    the dataset fit the results.
    """
    version = plan.run.generation
    category_decoder = select_category_decoder(
        version, name, decoder.decoder, loaded.results, loaded.scores
    )
    context = items.CategoryContext(version, name, category_decoder, decoder_reason=decoder.reason)
    category = JoinedCategory(
        context, dataset=loaded.dataset, results=loaded.results, scores=loaded.scores
    )
    # In these categories, the id of a result contains more than that of its dataset item.
    category.has_derived_ids = name.startswith(("memory", "web_search", "format_sensitivity"))

    has_score_file = loaded.scores.path.name != ""
    if has_score_file:
        context.score_file_name = loaded.scores.path.name
        context.score_file_path = str(loaded.scores.path)
        _check_item_counts(category)
        if loaded.dataset.items:
            _check_dataset_version(category)
    return category


class _RunReader:
    """Reads categories of a run one after the other."""

    def __init__(self, plan: RunPlan, decoder: DecoderChoice, categories: FilesByCategory) -> None:
        self._plan = plan
        self._decoder = decoder
        self._categories = categories
        self.executor: Executor | None = None
        self._loader = CategoryLoader(plan)
        self._quoted = QuotedReplies()
        self.has_scores_of_other_replies = False
        self.coverage = RunCoverage()

    def compare_quoted_replies(self) -> QuotedReplies:
        """Compare the score entries of all categories with the results, before the first verdict
        is known.
        """
        self._quoted = compare_quoted_replies(self._categories, self._loader)
        return self._quoted

    def read_category(self, name: str, files: CategoryFiles) -> Iterator[ReadRecord]:
        """Yield the items of one category of the run, with all issues of its files.

        Items come from result records. A failing item without a result record comes from its score
        entry. Also sets the official metrics of the category, the header of its score file.
        """
        corrector = GoldenCorrector(self._plan.errata, self._plan.run, name)
        category = self._join_category(name, files)
        dataset = category.dataset
        # Items of a large dataset are loaded when they are read, which can add issues.
        early_issues = list(dataset.issues)
        yield from early_issues
        yield from category.results.issues
        yield from category.scores.issues
        yield from category.issues

        yield from _read_items_with_result(category, corrector)
        items_without_result = _list_scored_items_without_result(category)
        yield from _read_items_without_result(category, items_without_result, corrector)

        yield from _report_missing_dataset_records(category, files)
        yield from dataset.issues[len(early_issues) :]
        yield from self.coverage.add_category(_list_contents(category, items_without_result))
        if dataset.items and not category.has_derived_ids:
            corrector.report_absent_items(dataset.items)
        yield from corrector.issues
        yield from _report_unknown_fields(category, files, self._plan)

    def _join_category(self, name: str, files: CategoryFiles) -> JoinedCategory:
        """Load and join the files of a category, and set its official metrics in the run."""
        loaded = self._loader.load(name, files)
        category = _join_loaded_category(self._plan, name, loaded, self._decoder)
        category.context.executor = self.executor
        category.has_scores_of_other_replies = self.has_scores_of_other_replies
        category.items_with_other_reply = self._quoted.others.get(name, set())
        if files.scores and not category.has_scores_of_other_replies:
            self._plan.run.official_metrics[name] = category.scores.header
        return category


def _read_items_with_result(category: JoinedCategory, corrector: GoldenCorrector) -> Iterator[Item]:
    for item_id in category.results.records:
        yield _read_item(category, item_id, category.scores.failing.get(item_id), corrector)


def _list_scored_items_without_result(category: JoinedCategory) -> list[str]:
    """Return the ids of the failing items that are in the score file and not in the results. The
    list is empty if the scores belong to other replies, because their items are not items of the
    run.
    """
    if category.has_scores_of_other_replies:
        return []
    missing = [
        item_id for item_id in category.scores.failing if item_id not in category.results.records
    ]
    return sorted(missing, key=lambda item_id: filenames.parse_item_number(item_id) or 0)


def _read_items_without_result(
    category: JoinedCategory, item_ids: list[str], corrector: GoldenCorrector
) -> Iterator[Item | ImportIssue]:
    """Yield the failing items that have no result record. Their score entries contain the reply."""
    if item_ids and category.results.records:
        what = (
            f"{len(item_ids)} failing items have no result record, so they are read from the score"
            " file"
        )
        yield ImportIssue(str(category.scores.path), what=what)
    for item_id in item_ids:
        yield _read_item(category, item_id, category.scores.failing[item_id], corrector)


def _list_contents(category: JoinedCategory, items_without_result: list[str]) -> CategoryContents:
    """Return which items a category has in the results and in the dataset."""
    records = category.results.records
    return CategoryContents(
        name=category.context.category,
        item_ids={*records, *items_without_result},
        dataset_ids=category.dataset.items.keys(),
        has_results=bool(records),
        matches_dataset=category.matches_dataset,
    )


def _report_missing_dataset_records(
    category: JoinedCategory, files: CategoryFiles
) -> Iterator[ImportIssue]:
    """Yield an issue with the number of questions that the dataset lacks, and one for golden
    answers.
    """
    if not files.dataset_files:
        return
    dataset_files = files.dataset_files[0]
    n_items = category.n_read
    if category.n_without_question:
        yield make_missing_records_issue(
            dataset_files.questions, "question", category.n_without_question, n_items
        )
    if category.n_without_answer:
        answers = dataset_files.answers or dataset_files.expected_answers
        yield make_missing_records_issue(
            answers, "golden answer", category.n_without_answer, n_items
        )


def _report_unknown_fields(
    category: JoinedCategory, files: CategoryFiles, plan: RunPlan
) -> Iterator[ImportIssue]:
    """Yield a notice for each field of the result records that fcreview does not know."""
    for key, line in category.context.unknown_fields.items():
        path = str(files.results[0]) if files.results else str(plan.run.path)
        what = f"fcreview does not know the field {key!r}. The items' metadata contain it"
        yield ImportIssue(path, line, what=what, severity="notice")


def _load_category_dataset(version: str, category: str, files: list[DatasetFiles]) -> Dataset:
    """Load the dataset of a category. Only that of `format_sensitivity` is in several files."""
    if category != "format_sensitivity":
        return load_dataset(files[0], category) if files else Dataset()
    # The items of this category come from several other categories.
    prefix = f"BFCL_{version.lower()}_"
    datasets = []
    for files_of_category in files:
        question_category = files_of_category.questions.stem.removeprefix(prefix)
        datasets.append(load_dataset(files_of_category, question_category))
    return merge_datasets(datasets)


def _check_item_counts(category: JoinedCategory) -> None:
    """Find out whether the items without a score entry passed, and set `category.knows_passes`.

    A score file lists only failing items, and its header states how many items were scored. If the
    run has more items than that, some of them were not scored, and it is unknown which ones.
    """
    scores = category.scores
    category.knows_passes = scores.is_complete
    if scores.n_scored is None or not scores.is_complete:
        return

    name = category.context.category
    if not category.results.records:
        category.issues.append(_make_missing_results_issue(name, scores, scores.n_scored))
        return

    n_items = _count_items(category)
    scored = f"{scores.n_scored} items of {name} were scored"
    if n_items > scores.n_scored:
        category.knows_passes = False
        what = f"{scored}, but the run has {n_items}, so it is unknown which items passed"
        category.issues.append(ImportIssue(str(scores.path), line=1, what=what, severity="error"))
    elif n_items < scores.n_scored:
        what = f"{scored}, but only {n_items} results can be read"
        category.issues.append(ImportIssue(str(scores.path), line=1, what=what))


def _count_items(category: JoinedCategory) -> int:
    """Return the number of items: those with a result, and failing ones without."""
    records = category.results.records
    return len(records) + sum(item_id not in records for item_id in category.scores.failing)


def _make_missing_results_issue(name: str, scores: ScoreFile, n_scored: int) -> ImportIssue:
    n_failing = len(scores.failing)
    what = (
        f"there is no result file of {name}. Its {n_failing} failing items are read from the score"
        f" file; the {n_scored - n_failing} passing items are not shown"
    )
    return ImportIssue(str(scores.path), what=what)


def _check_dataset_version(category: JoinedCategory) -> None:
    """Find out whether the dataset is of another version than the run, and set
    `category.matches_dataset`.

    Score entries quote questions. If more than half of them, and at least two, differ from the
    dataset, it is not the one with which the run was made.
    """
    are_same = _compare_quoted_questions(category)
    n_different = are_same.count(False)
    is_other_version = n_different > 1 and n_different * 2 > len(are_same)
    if is_other_version:
        category.matches_dataset = False
        what = (
            f"{n_different} of {len(are_same)} questions in the score file differ from the dataset."
            f" The dataset is of another version, so {category.context.category} is imported"
            " without it"
        )
        path = str(category.scores.path)
        category.issues.append(ImportIssue(path, what=what, severity="error"))


def _compare_quoted_questions(category: JoinedCategory) -> list[bool]:
    """Return for each question in the score file that the dataset has too whether both are the
    same.
    """
    are_same = []
    for item_id, entry in category.scores.failing.items():
        dataset_id = filenames.to_dataset_id(item_id, category.context.category)
        turns = category.dataset.items.read_question_turns(dataset_id)
        if turns is not None and entry.quoted_question is not None:
            are_same.append(is_same_question(turns, entry.quoted_question))
    return are_same


def _read_item(
    category: JoinedCategory, item_id: str, entry: ScoreEntry | None, corrector: GoldenCorrector
) -> Item:
    """Read an item from its result record or, without one, from its score entry.

    Args:
        category: The joined files of the category.
        item_id: Id of the item.
        entry: The score entry of the item, if it has one.
        corrector: Applies the user's errata to the golden answer.
    """
    category.n_read += 1
    source = _find_record(category, item_id, entry)
    chosen = choose_dataset_item(category, item_id, entry, source.path, source.position.line)
    inputs = items.ItemInputs(
        item_id,
        corrected=corrector.correct_item(item_id, chosen.item),
        official=_find_official_verdict(category, entry),
        score_entry=entry,
        file=source.path,
        position=source.position,
        further_entries=category.scores.further_entries.get(item_id, ()),
    )
    item = _build_item(category, inputs, source)
    _set_score_flags(item, category)

    item.issues += chosen.issues
    item.issues += _find_record_issues(category, item, entry, source)
    return item


def _find_record_issues(
    category: JoinedCategory, item: Item, entry: ScoreEntry | None, source: _ItemSource
) -> Iterator[ImportIssue]:
    """Yield the issues of the two records of an item: a missing result, and a score entry that
    quotes another reply.
    """
    if source.record is None or "result" not in source.record:
        what = "the record has no result"
        yield ImportIssue(source.path, source.position.line, what=what, item=item.id)
    # If the scores of the whole run belong to other replies, one issue of the run says so.
    quotes_other_reply = "other_reply" in item.flags and not category.has_scores_of_other_replies
    if entry is not None and quotes_other_reply:
        yield make_other_reply_issue(category.scores, entry)


@dataclass(frozen=True, slots=True)
class _ItemSource:
    """The record that an item is read from."""

    path: str
    position: JsonRecord
    record: dict[str, Any] | None
    """Content of the record; None if the file has changed."""
    is_score_entry: bool = False


def _find_record(category: JoinedCategory, item_id: str, entry: ScoreEntry | None) -> _ItemSource:
    """Find the record of an item: in the result file or, if that lacks it, what the score entry
    quotes of it.

    Raises KeyError if there is neither a result record nor a score entry.
    """
    results = category.results
    if item_id in results.records:
        result = results.records[item_id]
        return _ItemSource(
            str(result.path), position=result.record, record=results.read_record(item_id)
        )

    if entry is None:
        raise KeyError(item_id)
    return _ItemSource(
        str(category.scores.path),
        position=JsonRecord(entry.line, offset=entry.offset, length=entry.length, value=None),
        record=_make_record_from_entry(entry),
        is_score_entry=True,
    )


def _find_official_verdict(category: JoinedCategory, entry: ScoreEntry | None) -> bool | None:
    """Return the official verdict: fail with a score entry, else pass if the score file lists
    all failures.
    """
    if not category.scores.is_complete or category.has_scores_of_other_replies:
        return None
    if entry is not None:
        return False
    return True if category.knows_passes else None


def _build_item(category: JoinedCategory, inputs: items.ItemInputs, source: _ItemSource) -> Item:
    """Build the item of a record. If the record cannot be interpreted, make an item with only the
    question and the reason.
    """
    record = source.record
    try:
        if record is None:
            raise ValueError("the file changed while it was read")
        if isinstance(record, dict) and "result" not in record:
            raise ValueError("the field 'result' is missing")
        return items.build_item(category.context, inputs, record)
    except MALFORMED_DATA as error:
        noun = "score entry" if source.is_score_entry else "record"
        reason = f"the {noun} could not be interpreted: {type(error).__name__}: {error}"
        return items.make_degraded_item(category.context, inputs, reason)


def _set_score_flags(item: Item, category: JoinedCategory) -> None:
    """Set the flags that depend on the score file.

    Equal items share the list, so it is replaced, not changed.
    """
    flags = [flag for flag in item.flags if flag not in ("other_reply", "scored_twice")]
    if item.id in category.items_with_other_reply:
        flags.append("other_reply")
    if category.scores.is_scored_twice(item.id):
        flags.append("scored_twice")
    item.flags = flags


def _make_record_from_entry(entry: ScoreEntry) -> dict[str, Any]:
    """Make a result record from a score entry.

    Old entries contain the result as Python's `str`, which stays text.
    """
    result = entry.record.get("model_result_raw", entry.record.get("model_result"))
    log = {key: value for key, value in entry.record.items() if key == "inference_log"}
    return {"id": entry.id, "result": result, **log}
