"""Export training data from reviewed items, one JSON object per line: conversations (`sft`),
pairs of replies (`preference`), single replies with a label (`kto`), or all answers with their
rewards (`rewards`).

The rows have TRL's conversational format. Tools are JSON text, because lists of different schemas
cannot have the same Arrow type. With the flavour `openai`, the arguments of calls are JSON text
too.

The messages of a preference pair end before the first reply that differs. If the only reply of a
conversation fails, a corrected golden answer can take its place. The correction is an applied
erratum or a golden fix. A golden fix counts for the same question in all runs if an adjudicator
recorded it, or if it is the only fix and annotators do not disagree on the item.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.exporters.decontamination import BenchmarkQuestions, read_benchmark_questions
from fcreview.exporters.golden_patch import list_fix_authors
from fcreview.exporters.training_manifest import RowFacts, build_manifest
from fcreview.exporters.training_rewards import ANSWER_KEY_FIELDS, AnswerKey, Reward, RewardMask
from fcreview.exporters.training_splits import make_split_chooser
from fcreview.matching.align import align_calls
from fcreview.matching.conversation import ChatMessage, build_chat_messages, make_tool_definitions
from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import DISPUTED, is_same_verdict
from fcreview.model.item import AcceptedValues, Call, GoldenObject, Item, Run
from fcreview.model.json_value import canonical_json, to_plain_json
from fcreview.model.review import ITEM_CORRECT, Opinion, QuestionKey
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.store.label_fields import TrainingOptions
    from fcreview.store.rows import ItemDetail


JsonObject = dict[str, Any]
PairKind = Literal["runs", "trials", "golden"]
"""Where the two replies of a pair come from: the same question in two runs, two trials of the same
task in one run, or a model's reply and the golden calls.
"""


class GoldenFix(NamedTuple):
    content: JsonObject
    authors: list[str]


@dataclass(frozen=True, slots=True)
class CorrectedGolden:
    calls: Sequence[Call]
    authors: Sequence[str]
    """Annotators who corrected the golden answer. An erratum may name none."""


class CorrectedGoldens:
    """Finds the corrected golden answer of an item.

    A correction counts if at least `min_annotators` annotators agree on it, or if an adjudicator
    recorded it.
    """

    def __init__(self, source: ExportSource, min_annotators: int) -> None:
        self._source = source
        self._min_annotators = min_annotators
        self._fixes = _collect_fixes(source, min_annotators)

    def find_corrected_golden(self, detail: ItemDetail) -> CorrectedGolden | None:
        """Return the corrected golden answer of an item, or None if it was not corrected.

        A correction by annotators comes before one by errata.
        """
        # `_collect_fixes` has already left out fixes of too few annotators.
        fix = self._find_valid_fix(detail)
        if fix is not None:
            services = self._source.benchmark_services
            calls = services.parse_golden_fix(detail.run, detail.item, fix.content)
            return CorrectedGolden(calls, fix.authors) if calls else None
        return self._find_answer_of_erratum(detail.item)

    def _find_answer_of_erratum(self, item: Item) -> CorrectedGolden | None:
        """Return the golden answer of an item if it is from an erratum of enough annotators.

        The import has applied the erratum, so that `item.golden` is the corrected answer.
        """
        erratum = item.extra.erratum
        if erratum is None or erratum.stale or not item.golden:
            return None
        # An erratum without names counts as one of a single annotator.
        n_annotators = max(len(erratum.who), 1)
        if n_annotators < self._min_annotators:
            return None
        return CorrectedGolden(item.golden, erratum.who)

    def _find_valid_fix(self, detail: ItemDetail) -> GoldenFix | None:
        """Return the fix of the item's golden answer, if the benchmark accepts it."""
        item = detail.item
        run = detail.run
        key = (
            run.benchmark,
            run.generation,
            run.language,
            item.category,
            item.id,
            item.golden_hash or "",
        )

        fix = self._fixes.get(key)
        if fix is None:
            return None

        services = self._source.benchmark_services
        problem = services.explain_golden_fix_rejection(run, item, fix.content)
        if problem is not None:
            return None
        return fix


def _collect_fixes(source: ExportSource, min_annotators: int) -> dict[AnswerKey, GoldenFix | None]:
    """Return the golden fix of each golden answer, from the reviews of all runs, or None if
    fixes differ.
    """
    fixes: dict[AnswerKey, GoldenFix | None] = {}
    for label in _iter_labels_with_fix(source):
        if not _has_usable_fix(label, min_annotators):
            continue
        key = tuple(str(label[name] or "") for name in ANSWER_KEY_FIELDS)
        fix = GoldenFix(label["golden_fix"], list_fix_authors(label))
        first_fix = fixes.setdefault(key, fix)
        if first_fix is None:
            continue
        if canonical_json(first_fix.content) != canonical_json(fix.content):
            fixes[key] = None
    return fixes


def _iter_labels_with_fix(source: ExportSource) -> Iterator[Label]:
    """Yield the labels of all runs that have a golden fix, agreed or not."""
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View

    for lines in source.store.iter_label_batches(View(), LabelSelection("reviewed")):
        for line in lines:
            # Most labels have no fix. This test costs less than parsing them.
            if '"golden_fix":{' in line:
                yield orjson.loads(line)


def _has_usable_fix(label: Label, min_annotators: int) -> bool:
    is_on_item = (label["target"], label["criterion"]) == ITEM_CORRECT
    return bool(label["golden_fix"]) and is_on_item and _is_fix_agreed(label, min_annotators)


def _is_fix_agreed(label: Label, min_annotators: int) -> bool:
    """Whether a correction of a golden answer can be used.

    It can if an adjudicator reviewed the item, or if enough annotators recorded the correction or
    agree with the verdict.
    """
    if label["decided_by"] == DISPUTED:
        return False
    opinions = [opinion for opinion in label["opinions"] if not opinion["stale"]]
    if any(opinion["act"] == "adjudicate" for opinion in opinions):
        return True

    agreeing = set()
    for opinion in opinions:
        has_same_fix = opinion["golden_fix"] == label["golden_fix"]
        if has_same_fix or is_same_verdict(opinion["value"], label["human"]):
            agreeing.add(opinion["annotator"])
    return len(agreeing) >= min_annotators


@dataclass(slots=True)
class _ReviewedItem:
    key: tuple[str, ...]
    """(benchmark, version, language, category, item id) of the question."""
    run: int
    passes: bool | None
    """Verdict on the item. None if the item has only a corrected golden answer."""
    messages: list[ChatMessage]
    """Messages of the conversation. Empty for a failed item whose reply may be right, unless its
    golden answer is corrected.
    """
    tools: list[JsonObject]
    source: JsonObject
    reward: Reward
    reason: str
    golden: Sequence[Call] = ()
    correction: CorrectedGolden | None = None
    group: str | None = None
    golden_hash: str = ""
    question: str = ""
    is_benchmark: bool = True
    is_model_wrong: bool = True
    """Whether reviews blame only the model for a failure. If they blame something else, such as
    the golden answer, the reply may be right.
    """
    is_wrong_for_corrected: bool = True
    """Whether reviews blame only the model and the golden answer. Then a reply that differs from
    the corrected golden answer is wrong.
    """
    title: str = ""

    @property
    def is_reply_wrong(self) -> bool:
        """Whether the reply is wrong if the item fails, by the golden answer that counts."""
        if self.correction is None:
            return self.is_model_wrong
        return self.is_wrong_for_corrected


class _RowWriter:
    """Writes rows, and counts them for the dataset card and the manifest."""

    def __init__(self, source: ExportSource, format_name: str, out: Sink) -> None:
        self._source = source
        self._options = source.selection.training
        self._out = out
        self._splits = make_split_chooser(source)
        self.facts = RowFacts(format_name)
        self.titles: Counter[str] = Counter()

    def write(self, item: _ReviewedItem, row: JsonObject, *, is_corrected: bool) -> None:
        """Write a row of an item, with its split if the export has splits."""
        if self._splits is not None:
            split = self._splits.choose(QuestionKey(*item.key), item.group)
            row = {**row, "split": split}
            self.facts.splits[split] += 1
        self._out.write(orjson.dumps(to_plain_json(row)) + b"\n")
        self._count_row(item, row, is_corrected=is_corrected)

    def _count_row(self, item: _ReviewedItem, row: JsonObject, *, is_corrected: bool) -> None:
        """Count a row for the dataset card and the manifest."""
        facts = self.facts
        facts.rows += 1
        facts.benchmark_rows += item.is_benchmark
        facts.corrected_rows += is_corrected
        facts.rows_by_run[item.run] += 1
        facts.annotators.update(item.source["annotators"])
        if "label" in row:
            facts.labels["right" if row["label"] else "wrong"] += 1
        self.titles[item.title] += 1


def write_sft_rows(source: ExportSource, out: Sink) -> None:
    """Write rows for supervised fine-tuning: conversations that end with a right reply.

    An item gives a row if it passes, or if its golden answer was corrected. In the second case, the
    corrected golden calls replace the model's reply.
    """
    options = source.selection.training
    writer = _RowWriter(source, "sft", out)
    digests_of_corrected_rows: set[bytes] = set()
    for item in _iter_reviewed_items(source, writer.facts):
        example = _choose_sft_example(item, options)
        if example is None:
            continue

        content = {
            "messages": _encode_messages(example.messages, options),
            "reply": example.reply_kind,
        }
        if example.is_corrected:
            # The runs of several models give the same row, because its reply is not theirs.
            digest = _hash_row(content, item)
            if digest in digests_of_corrected_rows:
                continue
            digests_of_corrected_rows.add(digest)
        row = _build_row(item, content, options, is_corrected=example.is_corrected)
        writer.write(item, row, is_corrected=example.is_corrected)
    _set_counts_and_descriptions(source, writer)


def _choose_sft_example(item: _ReviewedItem, options: TrainingOptions) -> _LabelledReply | None:
    """Return the conversation with the corrected golden reply, else with the right reply of the
    model. None if an item has neither.
    """
    corrected_messages = _select_corrected_messages(item, options)
    if corrected_messages is not None:
        return _LabelledReply(corrected_messages, is_right=True, is_corrected=True)
    messages = _select_training_messages(item, options)
    if messages is not None:
        return _LabelledReply(messages, is_right=True)
    return None


def write_kto_rows(source: ExportSource, out: Sink) -> None:
    """Write training rows for Kahneman-Tversky optimisation (arXiv 2402.01306): a conversation, a
    reply, and a label that says whether the reply is right.

    A passing item gives its last reply. A failing item gives its reply only if it has a single one,
    because nobody knows which of several replies is wrong. Corrected golden calls can also give a
    row: they are the reply, and the label is true.
    """
    options = source.selection.training
    writer = _RowWriter(source, "kto", out)
    written_rows: set[bytes] = set()
    for item in _iter_reviewed_items(source, writer.facts):
        writer.facts.unclear_replies += _is_wrong_reply_unclear(item)
        for example in _list_kto_examples(item, options):
            content = _make_kto_content(example, options)
            digest = _hash_row(content, item)
            if digest in written_rows:
                continue
            written_rows.add(digest)
            row = _build_row(item, content, options, is_corrected=example.is_corrected)
            writer.write(item, row, is_corrected=example.is_corrected)
    _set_counts_and_descriptions(source, writer)


def _make_kto_content(example: _LabelledReply, options: TrainingOptions) -> JsonObject:
    *prompt, reply = example.messages
    return {
        "prompt": _encode_messages(prompt, options),
        "completion": _encode_messages([reply], options),
        "label": example.is_right,
        "reply": example.reply_kind,
    }


def write_reward_rows(source: ExportSource, out: Sink) -> None:
    """Write a row for each item of the view: the question, the answer, and the automatic verdict as
    its reward, with a mask that says whether it can be trusted. `_build_row` adds the reward.
    """
    options = source.selection.training
    writer = _RowWriter(source, "rewards", out)
    reader = _ItemReader(source, writer.facts)
    for assessed in reader.iter_items():
        if reader.is_contaminated(assessed.detail):
            continue

        # A row of rewards needs no human verdict. The mask says what reviews decided.
        item = _build_reviewed_item(assessed, passes=None)
        messages = _drop_messages_hidden_from_model(
            _build_messages_with_dotted_names(assessed.detail.item)
        )
        prompt, completion = _split_at_first_reply(messages)
        content = {
            "prompt": _encode_messages(prompt, options),
            "completion": _encode_messages(completion, options),
        }

        row = _build_row(item, content, options, is_corrected=False)
        writer.write(item, row, is_corrected=False)
    _set_counts_and_descriptions(source, writer)


def _split_at_first_reply(
    messages: Sequence[ChatMessage],
) -> tuple[Sequence[ChatMessage], Sequence[ChatMessage]]:
    """Divide a conversation before the first reply of the model. Replies that the benchmark gives
    belong to the question.
    """
    for position, message in enumerate(messages):
        if message.role == "assistant" and not message.is_given:
            return messages[:position], messages[position:]
    return messages, []


@dataclass(frozen=True, slots=True)
class _LabelledReply:
    messages: list[ChatMessage]
    """The conversation up to the reply, which is the last message."""
    is_right: bool
    is_corrected: bool = False
    """Whether the reply has corrected golden calls and is not of a model."""

    @property
    def reply_kind(self) -> str:
        """Value of the field `reply` of a row."""
        return "golden" if self.is_corrected else "model"


def _list_kto_examples(item: _ReviewedItem, options: TrainingOptions) -> list[_LabelledReply]:
    """Return the replies of an item that are known to be right or wrong: none, one, or the
    corrected golden reply and a wrong one.
    """
    examples = []
    corrected_messages = _select_corrected_messages(item, options)
    if corrected_messages is not None:
        examples.append(_LabelledReply(corrected_messages, is_right=True, is_corrected=True))

    right_messages = _select_training_messages(item, options)
    if right_messages is not None and not right_messages[-1].is_given:
        examples.append(_LabelledReply(right_messages, is_right=True))

    if item.passes is False and item.is_reply_wrong:
        wrong_messages = _select_wrong_messages(item)
        if wrong_messages is not None:
            examples.append(_LabelledReply(wrong_messages, is_right=False))
    return examples


def _is_wrong_reply_unclear(item: _ReviewedItem) -> bool:
    """Whether a wrong conversation has several replies, so that nobody knows which is wrong."""
    if item.passes is not False or not item.is_reply_wrong:
        return False
    return not _ends_with_only_reply(_drop_messages_hidden_from_model(item.messages))


def _select_wrong_messages(item: _ReviewedItem) -> list[ChatMessage] | None:
    """Return the conversation of a failing item up to the wrong reply.

    None if the wrong reply is unknown or incomplete, or if it is right by the corrected golden
    answer.
    """
    messages = _drop_messages_hidden_from_model(item.messages)
    if not _ends_with_only_reply(messages):
        return None
    reply = messages[-1]
    if not _is_complete_reply(reply) or _is_corrected_reply(item, reply):
        return None
    return messages


def _is_corrected_reply(item: _ReviewedItem, reply: ChatMessage) -> bool:
    """Whether a reply has the calls of the corrected golden answer, and so is right after all."""
    return item.correction is not None and _has_accepted_calls(item.golden, reply)


def _select_corrected_messages(
    item: _ReviewedItem, options: TrainingOptions
) -> list[ChatMessage] | None:
    """Return the conversation with the corrected golden calls as its reply, if there are any."""
    if item.correction is None or options.exclude_benchmark_goldens:
        return None
    corrected = _build_golden_reply(item)
    if corrected is None:
        return None
    return [*corrected.messages[:-1], corrected.reply]


def _hash_row(content: JsonObject, item: _ReviewedItem) -> bytes:
    encoded = orjson.dumps(to_plain_json([content, item.tools]))
    return blake2b(encoded, digest_size=16).digest()


def write_preference_pairs(source: ExportSource, out: Sink) -> None:
    """Write rows for preference training: a right and a wrong reply to the same messages.

    A question has at most `max_pairs` pairs, and equal pairs are written once.
    """
    options = source.selection.training
    writer = _RowWriter(source, "preference", out)
    questions = _group_items_by_question(source, writer.facts)
    tasks = _group_trials_by_task(questions)

    n_pairs: Counter[tuple[str, ...]] = Counter()
    written_rows: set[bytes] = set()
    for pair in _iter_preference_pairs(questions, tasks, options):
        question = pair.right.key
        if n_pairs[question] >= options.max_pairs:
            continue
        content = pair.to_row(options)
        row = _build_row(pair.wrong, content, options, is_corrected=pair.is_corrected)
        encoded_row = orjson.dumps(to_plain_json(row))
        if encoded_row in written_rows:
            continue

        writer.write(pair.wrong, row, is_corrected=pair.is_corrected)
        written_rows.add(encoded_row)
        n_pairs[question] += 1
    _set_counts_and_descriptions(source, writer)


def _group_items_by_question(source: ExportSource, facts: RowFacts) -> list[list[_ReviewedItem]]:
    """Group the items with a verdict. Several runs can have items of the same question."""
    items_by_question: dict[tuple[str, ...], list[_ReviewedItem]] = {}
    for item in _iter_reviewed_items(source, facts):
        if item.passes is not None:
            items_by_question.setdefault(item.key, []).append(item)
    return list(items_by_question.values())


def _group_trials_by_task(questions: Sequence[list[_ReviewedItem]]) -> list[list[_ReviewedItem]]:
    """Group the items of a run that are repeated trials of one task.

    Trials have the same group, question and golden answer, and different ids.
    """
    tasks: dict[tuple[Any, ...], list[_ReviewedItem]] = {}
    for items in questions:
        for item in items:
            if item.group is None or not item.golden_hash:
                continue
            # Everything but the id, which differs between trials.
            *benchmark_and_category, _ = item.key
            task = (*benchmark_and_category, item.run, item.group, item.golden_hash, item.question)
            tasks.setdefault(task, []).append(item)
    return list(tasks.values())


def _set_counts_and_descriptions(source: ExportSource, writer: _RowWriter) -> None:
    """Set the number of exported rows, the dataset card and the manifest.

    Print a warning if rows contain data from a benchmark, because a model must not be tested on
    them, and a note on what was left out.
    """
    facts = writer.facts
    source.counts.clear()
    source.counts["row"] = facts.rows
    _print_omissions(source, facts)
    if not facts.rows:
        return

    source.make_card = lambda file_name: _make_dataset_card(file_name, source, writer)
    source.make_manifest = lambda: build_manifest(source, facts)
    if facts.benchmark_rows:
        n_rows = format_count(facts.rows, "row")
        source.print_note(
            f"warning: {facts.benchmark_rows:,} of {n_rows} contain data from a benchmark. A model"
            " trained on them has seen the test set."
        )


def _print_omissions(source: ExportSource, facts: RowFacts) -> None:
    """Say how many items were left out, and why."""
    for note in _list_omissions(facts):
        source.print_note(note)


def _list_omissions(facts: RowFacts) -> Iterator[str]:
    """Yield how many items were left out for each reason."""
    if facts.incidents:
        incidents = format_count(facts.incidents, "incident")
        yield f"{incidents} left out. Use --include-incidents to keep them"
    if facts.unclear_replies:
        conversations = format_count(facts.unclear_replies, "failing conversation")
        yield (
            f"{conversations} with several replies left out, because it is unknown which reply is"
            " wrong"
        )
    if facts.untrusted_verdicts:
        items = format_count(facts.untrusted_verdicts, "unreviewed item")
        yield f"{items} left out, because annotators found the golden answer wrong in another run"
    if facts.n_benchmark_questions:
        yield _describe_decontamination(facts)


def _describe_decontamination(facts: RowFacts) -> str:
    """Say how many items have a question of the given benchmarks."""
    items = format_count(len(facts.matches), "item")
    questions = format_count(facts.n_benchmark_questions, "question")
    n_exact = sum(match.kind == "exact" for _, match in facts.matches)
    n_near = len(facts.matches) - n_exact
    return (
        f"{items} left out, because the given benchmarks ({questions}) have their questions:"
        f" {n_exact:,} exactly, {n_near:,} nearly"
    )


def _make_dataset_card(file_name: str, source: ExportSource, writer: _RowWriter) -> str:
    """Return the text of the dataset card: its metadata, a warning, and facts about the rows."""
    facts = writer.facts
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {json.dumps(file_name, ensure_ascii=False)}",
        "---",
        "",
        f"# Training rows: {facts.format}",
        "",
    ]
    if facts.benchmark_rows:
        lines += _list_warning_lines(facts)
    lines += _list_card_facts(source.selection.training, facts)
    for title, n_rows in writer.titles.items():
        name = json.dumps(title, ensure_ascii=False)
        lines.append(f"* {name}: {format_count(n_rows, 'row')}")
    lines.append("")
    return "\n".join(lines)


def _list_warning_lines(facts: RowFacts) -> list[str]:
    """Return the warning of the card that rows contain benchmark data."""
    n_rows = format_count(facts.rows, "row")
    return [
        f"> **Warning.** {facts.benchmark_rows:,} of {n_rows} contain benchmark data (field",
        "> `contains_benchmark`). A model trained on these rows has seen the test set, so do"
        " not report its",
        "> results on these benchmarks.",
        "",
    ]


def _list_card_facts(options: TrainingOptions, facts: RowFacts) -> Iterator[str]:
    """Yield the format, the condition and the numbers of the rows as items of a Markdown list."""
    yield f"* The file has {format_count(facts.rows, 'row')} in the format of {options.flavour}."
    rewards = facts.rewards
    yield (
        f"* The rewards of {format_count(rewards.valid, 'item')} of the export can be trusted, and"
        f" those of {rewards.invalid:,} cannot (field `reward`)."
    )
    if facts.format == "rewards":
        return

    yield f"* The rows come from items with {_describe_condition(options)}."
    n_corrected = format_count(facts.corrected_rows, "row")
    yield f"* Annotators corrected the golden calls of {n_corrected}."

    for split in options.splits:
        yield f"* Split {split.name}: {format_count(facts.splits[split.name], 'row')}"
    if facts.n_benchmark_questions:
        items = format_count(len(facts.matches), "item")
        questions = format_count(facts.n_benchmark_questions, "question")
        yield f"* {items} left out, because given benchmarks ({questions}) have their questions."


def _describe_condition(options: TrainingOptions) -> str:
    """Say which verdict an item needs to give a row."""
    n_annotators = format_count(options.agreed, "annotator")
    condition = f"a verdict by at least {n_annotators} or by an adjudicator"
    if options.trust_rule:
        condition += ", and unreviewed items with an automatic verdict"
    return condition


@dataclass(frozen=True, slots=True)
class _AssessedItem:
    detail: ItemDetail
    correction: CorrectedGolden | None
    reward: Reward


class _ItemReader:
    """Reads the items of an export with their rewards, and counts what is left out."""

    def __init__(self, source: ExportSource, facts: RowFacts) -> None:
        self._source = source
        self._options = source.selection.training
        self._facts = facts
        self._benchmark = None
        if self._options.decontaminate:
            self._benchmark = read_benchmark_questions(self._options.decontaminate)
            facts.n_benchmark_questions = self._benchmark.n_questions

    def iter_items(self) -> Iterator[_AssessedItem]:
        """Yield all items, and count how many rewards can be trusted."""
        goldens = CorrectedGoldens(self._source, self._options.agreed)
        mask = RewardMask(self._source)
        for chunk in self._source.iter_item_chunks():
            for detail in chunk:
                correction = goldens.find_corrected_golden(detail)
                reward = mask.assess(detail, has_correction=correction is not None)
                self._facts.rewards.add(reward)
                yield _AssessedItem(detail, correction, reward)

    def is_contaminated(self, detail: ItemDetail) -> bool:
        """Whether a given benchmark has the question of an item, which is then counted."""
        if self._benchmark is None:
            return False
        return _has_benchmark_question(detail, self._benchmark, self._facts)


def _iter_reviewed_items(source: ExportSource, facts: RowFacts) -> Iterator[_ReviewedItem]:
    """Yield the items that can give training rows: those with a usable verdict or a corrected
    golden answer.

    Incidents and items with a question of a given benchmark are left out, and counted in `facts`.
    """
    options = source.selection.training
    reader = _ItemReader(source, facts)
    for item in reader.iter_items():
        passes = _get_usable_verdict(item.detail, options)
        if not _can_give_rows(item.detail, passes, item.correction):
            continue
        if _is_left_out_incident(item.detail, options, facts):
            continue
        if passes is not None and _is_only_verdict_untrusted(item):
            facts.untrusted_verdicts += 1
            continue
        if reader.is_contaminated(item.detail):
            continue
        yield _build_reviewed_item(item, passes)


def _is_only_verdict_untrusted(item: _AssessedItem) -> bool:
    """Whether an unreviewed item has an automatic verdict by a golden answer that annotators found
    wrong in another run, without a correction that would give another verdict.
    """
    is_reviewed = isinstance(item.detail.row.human, bool)
    has_wrong_golden = "golden_wrong" in item.reward.problems
    return has_wrong_golden and not is_reviewed and item.correction is None


def _can_give_rows(
    detail: ItemDetail, passes: bool | None, correction: CorrectedGolden | None
) -> bool:
    """Whether an item has a usable verdict, or an annotator corrected the golden answer on this
    item.

    A correction that was made on another run's item of the question is not enough.
    """
    if passes is not None:
        return True
    return correction is not None and _has_own_correction(detail)


def _is_left_out_incident(detail: ItemDetail, options: TrainingOptions, facts: RowFacts) -> bool:
    """Whether an item is an incident that is left out, and count it then.

    The text of an incident is no reply of the model, whatever verdict it has.
    """
    if not detail.row.is_incident or options.include_incidents:
        return False
    facts.incidents += 1
    return True


def _has_benchmark_question(
    detail: ItemDetail, questions: BenchmarkQuestions, facts: RowFacts
) -> bool:
    """Whether the question of an item is in a given benchmark, and record it then."""
    match = questions.find_match(_join_user_texts(detail))
    if match is None:
        return False
    facts.matches.append((detail.item.id, match))
    return True


def _join_user_texts(detail: ItemDetail) -> str:
    """Return the messages of the user as one text, as questions of benchmarks are compared."""
    messages = build_chat_messages(detail.item)
    return "\n".join(message.content or "" for message in messages if message.role == "user")


def _has_own_correction(detail: ItemDetail) -> bool:
    """Whether an erratum or a review of this run corrects the golden answer."""
    if detail.item.extra.erratum is not None:
        return True
    return any(opinion.golden_fix for opinion in detail.opinions)


def _get_usable_verdict(detail: ItemDetail, options: TrainingOptions) -> bool | None:
    """Return the annotators' verdict if enough of them agree or an adjudicator decided; without
    reviews, the automatic verdict if `trust_rule` is set; else None.
    """
    human = detail.row.human
    if isinstance(human, bool):
        return human if _is_verdict_agreed(detail, human, options.agreed) else None
    if human == DISPUTED or not options.trust_rule:
        return None
    verdict = detail.row.effective
    return verdict if isinstance(verdict, bool) else None


def _is_verdict_agreed(detail: ItemDetail, verdict: bool, min_annotators: int) -> bool:
    """Whether an adjudicator reviewed the item, or enough annotators gave this verdict on it."""
    agreeing_annotators = set()
    for opinion in detail.opinions:
        is_on_item = (opinion.target, opinion.criterion) == ITEM_CORRECT
        if opinion.stale or not is_on_item:
            continue
        if opinion.is_adjudication:
            return True
        if opinion.verdict is verdict:
            agreeing_annotators.add(opinion.annotator)
    return len(agreeing_annotators) >= min_annotators


def _build_reviewed_item(assessed: _AssessedItem, passes: bool | None) -> _ReviewedItem:
    """Collect what the training rows of an item need: its messages, golden calls and reviews.

    Args:
        assessed: The item.
        passes: The human verdict on the item, or None if there is none: only its golden answer was
            corrected, or the row needs no verdict.
    """
    detail = assessed.detail
    correction = assessed.correction
    item = detail.item
    run = detail.run
    opinions = [opinion for opinion in detail.opinions if opinion.target == ITEM]

    # A review without a fault blames the model. If any review blames something else, such as the
    # checker, the reply may be right.
    blamed = {opinion.fault for opinion in opinions if opinion.fault is not None}
    is_model_wrong = blamed <= {"model"}

    # A failed reply that may be right gives no row, so its messages are not needed.
    messages: list[ChatMessage] = []
    if passes or is_model_wrong or correction is not None:
        messages = _build_messages_with_dotted_names(item)
    return _ReviewedItem(
        (run.benchmark, run.generation, run.language, item.category, item.id),
        run=detail.row.run,
        passes=passes,
        messages=messages,
        tools=make_tool_definitions(item.functions),
        source=_build_row_source(detail, opinions),
        reward=assessed.reward,
        reason=_describe_failure(item, opinions),
        golden=item.golden if correction is None else correction.calls,
        correction=correction,
        group=item.group,
        golden_hash=item.golden_hash,
        question=item.question,
        is_benchmark=_is_from_benchmark(item, run),
        is_model_wrong=is_model_wrong,
        # If only the golden answer is blamed too, the reply is wrong for its correction.
        is_wrong_for_corrected=blamed <= {"model", "golden"},
        title=run.full_title,
    )


def _describe_failure(item: Item, opinions: Sequence[Opinion]) -> str:
    """Return the notes of the reviews, else the first difference of the calls, else the error."""
    notes = [opinion.note for opinion in opinions if opinion.note]
    if notes:
        return "; ".join(notes)
    return item.first_difference or item.error_type or ""


def _is_from_benchmark(item: Item, run: Run) -> bool:
    """Whether a question is from a benchmark, as a golden answer or a dataset shows."""
    return bool(item.golden_hash) or run.dataset is not None or run.needs_dataset


def _build_row_source(detail: ItemDetail, opinions: Sequence[Opinion]) -> JsonObject:
    """Return the field of a row that says which run and which annotators it comes from."""
    run = detail.run
    return {
        "benchmark": run.benchmark,
        "version": run.generation,
        "model": run.model,
        "run": detail.row.run,
        "run_name": detail.row.run_name,
        "annotators": sorted({opinion.annotator for opinion in opinions}),
    }


def _build_messages_with_dotted_names(item: Item) -> list[ChatMessage]:
    """Return the messages of an item, with the names of functions as in their docs.

    Models with native calls write `a_b` for the function `a.b`, because their API does not allow
    dots.
    """
    docs_name_by_written_name = {}
    for function in item.functions:
        docs_name = str(function.get("name"))
        docs_name_by_written_name[docs_name.replace(".", "_")] = docs_name

    messages = build_chat_messages(item)
    for message in messages:
        calls = []
        for call in message.calls:
            docs_name = docs_name_by_written_name.get(call.name, call.name)
            calls.append(replace(call, name=docs_name))
        message.calls = calls
    return messages


def _select_training_messages(
    item: _ReviewedItem, options: TrainingOptions
) -> list[ChatMessage] | None:
    """Return the messages up to the last reply of an item that passes, as training data.

    None if the item does not pass, or if its messages cannot be training data.
    """
    if item.passes is not True:
        return None
    messages = _drop_messages_hidden_from_model(item.messages)
    while messages and messages[-1].role != "assistant":
        messages.pop()
    if not _can_be_training_data(messages):
        return None

    # The benchmark gives the model some replies, such as golden calls of earlier turns.
    has_given_reply = any(message.is_given for message in messages)
    if has_given_reply and options.exclude_benchmark_goldens:
        return None
    return messages


def _can_be_training_data(messages: Sequence[ChatMessage]) -> bool:
    """Whether messages have a question, and only replies that are complete."""
    roles = {message.role for message in messages}
    if "assistant" not in roles or "user" not in roles:
        return False
    # Chat formats have no place for a message of an unknown role, which the model may have seen.
    if "other" in roles:
        return False
    replies = [message for message in messages if message.role == "assistant"]
    return all(_is_complete_reply(reply) for reply in replies)


def _drop_messages_hidden_from_model(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages that the model has seen.

    These are all but log lines, states, and results of the calls of a simulated user.
    """
    shown_messages = []
    for message in messages:
        if message.role not in ("log", "state") and not message.is_for_user:
            shown_messages.append(message)
    return shown_messages


def _is_complete_reply(reply: ChatMessage) -> bool:
    """Whether a reply has content or calls, and all its calls were decoded."""
    if not reply.content and not reply.calls:
        return False
    return all(call.arguments is not None for call in reply.calls)


@dataclass(slots=True)
class _Pair:
    prompt: list[ChatMessage]
    chosen: ChatMessage
    rejected: ChatMessage
    right: _ReviewedItem
    wrong: _ReviewedItem
    kind: PairKind

    @property
    def is_corrected(self) -> bool:
        """Whether the right reply has corrected golden calls."""
        return self.kind == "golden" and self.wrong.correction is not None

    def to_row(self, options: TrainingOptions) -> JsonObject:
        """Return the pair in the format of TRL: the common messages, and the right and the wrong
        reply.
        """
        return {
            "prompt": _encode_messages(self.prompt, options),
            "chosen": _encode_messages([self.chosen], options),
            "rejected": _encode_messages([self.rejected], options),
            "pair": self.kind,
            "chosen_source": self.right.source,
            "reason": self.wrong.reason,
            "chosen_reward": None if self.kind == "golden" else self.right.reward.to_json(),
        }


def _iter_preference_pairs(
    question_groups: Sequence[list[_ReviewedItem]],
    task_groups: Sequence[list[_ReviewedItem]],
    options: TrainingOptions,
) -> Iterator[_Pair]:
    """Yield the pairs of each kind: replies of two runs, a golden and a wrong reply, and replies in
    two trials of a task.

    Of equal pairs, the caller writes the first.
    """
    for items in question_groups:
        yield from _pair_replies(items, "runs")
    if not options.exclude_benchmark_goldens:
        for items in question_groups:
            yield from _pair_with_goldens(items)
    for items in task_groups:
        yield from _pair_replies(items, "trials")


def _pair_with_goldens(items: Sequence[_ReviewedItem]) -> Iterator[_Pair]:
    for item in items:
        if item.passes:
            continue
        pair = _pair_with_golden(item)
        if pair is not None:
            yield pair


def _pair_replies(items: Sequence[_ReviewedItem], pair_kind: PairKind) -> Iterator[_Pair]:
    """Yield a pair of a right and a wrong reply for each two items of the same question.

    Only trials may be of the same run.
    """
    right_items = [item for item in items if item.passes]
    wrong_items = [item for item in items if item.passes is False and item.is_model_wrong]
    for right_item, wrong_item in product(right_items, wrong_items):
        if right_item.run == wrong_item.run and pair_kind != "trials":
            continue
        pair = _pair_first_different_replies(right_item, wrong_item, pair_kind)
        if pair is not None:
            yield pair


def _pair_first_different_replies(
    right: _ReviewedItem, wrong: _ReviewedItem, pair_kind: PairKind
) -> _Pair | None:
    """Return a pair of the first replies in which a right and a wrong conversation differ, with the
    messages before them as the prompt.

    Returns None if a message that is no reply differs first, because the two replies would then
    answer different messages. Returns None, too, if a reply is incomplete.
    """
    prompt: list[ChatMessage] = []
    messages_of_right = _drop_messages_hidden_from_model(right.messages)
    messages_of_wrong = _drop_messages_hidden_from_model(wrong.messages)
    for chosen, rejected in zip(messages_of_right, messages_of_wrong, strict=False):
        if _make_message_key(chosen) == _make_message_key(rejected):
            prompt.append(chosen)
            continue

        # Here, the conversations differ for the first time.
        has_question = any(message.role == "user" for message in prompt)
        if not has_question or not _can_be_pair(chosen, rejected):
            return None
        return _Pair(
            prompt, chosen=chosen, rejected=rejected, right=right, wrong=wrong, kind=pair_kind
        )
    return None


def _can_be_pair(chosen: ChatMessage, rejected: ChatMessage) -> bool:
    """Whether both are complete replies of the models, with different calls."""
    for reply in (chosen, rejected):
        if reply.role != "assistant" or reply.is_given or not _is_complete_reply(reply):
            return False
    return not _has_equal_calls(chosen, rejected)


def _make_message_key(message: ChatMessage) -> tuple[Any, ...]:
    """Return a key that is equal for equal messages. The text beside calls does not count."""
    if not message.calls:
        return message.role, message.content
    calls = [(call.name, canonical_json(call.arguments)) for call in message.calls]
    return message.role, tuple(calls)


def _has_equal_calls(first: ChatMessage, second: ChatMessage) -> bool:
    """Whether the calls of both replies are equal, compared as golden and predicted calls are."""
    if not first.calls:
        return False
    golden_calls = []
    for index, call in enumerate(first.calls):
        accepted_values = {}
        for name, value in (call.arguments or {}).items():
            accepted_values[name] = AcceptedValues([value])
        golden_calls.append(replace(call, side="golden", index=index, arguments=accepted_values))
    return _has_accepted_calls(golden_calls, second)


def _pair_with_golden(item: _ReviewedItem) -> _Pair | None:
    """Return a training pair of the golden reply and the wrong reply of an item. None if the reply
    may be right, if it is incomplete, or if the golden calls cannot replace it.
    """
    if not item.is_reply_wrong:
        return None
    golden_reply = _build_golden_reply(item)
    if golden_reply is None:
        return None

    *prompt, wrong_reply = golden_reply.messages
    if not _is_complete_reply(wrong_reply) or _has_accepted_calls(item.golden, wrong_reply):
        return None
    return _Pair(
        prompt,
        chosen=golden_reply.reply,
        rejected=wrong_reply,
        right=item,
        wrong=item,
        kind="golden",
    )


class _GoldenReply(NamedTuple):
    messages: list[ChatMessage]
    """The conversation with the model's reply as its last message."""
    reply: ChatMessage
    """Reply with the golden calls."""


def _build_golden_reply(item: _ReviewedItem) -> _GoldenReply | None:
    """Return a reply that consists of the golden calls, and the conversation before it.

    None unless the conversation ends with its only reply and the golden calls are in one step,
    because only then the golden calls can replace the reply.
    """
    messages = _drop_messages_hidden_from_model(item.messages)
    if not item.golden or not _ends_with_only_reply(messages):
        return None

    steps = {(call.turn, call.step) for call in item.golden}
    has_unknown_arguments = any(call.arguments is None for call in item.golden)
    if len(steps) > 1 or has_unknown_arguments:
        return None

    calls = [_build_first_accepted_call(call) for call in item.golden]
    ids = [f"call_golden_{number}" for number in range(1, len(calls) + 1)]
    return _GoldenReply(messages, ChatMessage("assistant", calls=calls, ids=ids))


def _ends_with_only_reply(messages: Sequence[ChatMessage]) -> bool:
    """Whether a conversation has a question and ends with the only reply of the model. A reply that
    the benchmark itself provides does not count.
    """
    replies = []
    for message in messages:
        if message.role == "assistant" and not message.is_given:
            replies.append(message)
    if len(replies) != 1 or messages[-1] is not replies[0]:
        return False
    return any(message.role == "user" for message in messages)


def _has_accepted_calls(golden_calls: Sequence[Call], reply: ChatMessage) -> bool:
    """Whether the reply has an equal or equivalent call for each golden call, and no others."""
    if len(golden_calls) != len(reply.calls):
        return False
    pairs = align_calls(list(golden_calls), reply.calls)
    return all(pair.state in "=~" for pair in pairs)


def _build_first_accepted_call(golden_call: Call) -> Call:
    """Return a call with the first accepted value of each argument. An argument without accepted
    values is omitted.
    """
    arguments = {}
    for name, accepted in (golden_call.arguments or {}).items():
        if isinstance(accepted, AcceptedValues) and accepted.any_of:
            arguments[name] = _get_first_accepted_value(accepted.any_of[0])
    return Call("predicted", golden_call.name, arguments=arguments)


def _get_first_accepted_value(value: Any) -> Any:
    """Return a value in which each golden object has the first accepted value of each field."""
    if isinstance(value, list):
        return [_get_first_accepted_value(element) for element in value]
    if not isinstance(value, GoldenObject):
        return value
    fields = {}
    for name, accepted in value.fields.items():
        if accepted.any_of:
            fields[name] = _get_first_accepted_value(accepted.any_of[0])
    return fields


def _encode_messages(messages: Sequence[ChatMessage], options: TrainingOptions) -> list[JsonObject]:
    return [_encode_message(message, options) for message in messages]


def _encode_message(message: ChatMessage, options: TrainingOptions) -> JsonObject:
    """Encode a message in the format of TRL or OpenAI."""
    encoded: JsonObject = {"role": message.role, "content": message.content}
    if message.role == "tool":
        encoded["name"] = message.name or "tool"
        encoded["tool_call_id"] = message.call_id or ""
    elif message.calls and message.role == "assistant":
        tool_calls = []
        for call, call_id in zip(message.calls, message.ids, strict=True):
            tool_calls.append(_encode_tool_call(call, call_id, options))
        encoded["tool_calls"] = tool_calls
    return encoded


def _encode_tool_call(call: Call, call_id: str, options: TrainingOptions) -> JsonObject:
    """Encode a call in the format of TRL or OpenAI."""
    arguments: Any = to_plain_json(call.arguments)
    if options.flavour == "openai":
        # OpenAI's format has the arguments as a JSON text.
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _build_row(
    item: _ReviewedItem,
    row_content: Mapping[str, Any],
    options: TrainingOptions,
    *,
    is_corrected: bool,
) -> JsonObject:
    """Return a training row with the tools and the origin of its item."""
    tools: Any = to_plain_json(item.tools)
    golden_authors: list[str] = []
    if item.correction is not None and is_corrected:
        golden_authors += item.correction.authors

    row = dict(row_content)
    # TRL's format has the tools as a JSON text.
    row["tools"] = tools if options.flavour == "openai" else json.dumps(tools, ensure_ascii=False)
    row["id"] = item.key[-1]
    row["source"] = item.source | {"golden_by": golden_authors}
    row["reward"] = item.reward.to_json()
    row["contains_benchmark"] = item.is_benchmark
    return row
