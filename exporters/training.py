"""Export training data from reviewed items, one JSON object per line: conversations (`sft`) or
pairs of replies (`preference`).

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
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.exporters.golden_patch import list_fix_authors
from fcreview.matching.align import align_calls
from fcreview.matching.conversation import ChatMessage, build_chat_messages, make_tool_definitions
from fcreview.model.address import ITEM
from fcreview.model.effective_verdict import DISPUTED, is_same_verdict
from fcreview.model.item import AcceptedValues, Call, GoldenObject, Item
from fcreview.model.json_value import canonical_json, to_plain_json
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.store.label_fields import TrainingOptions
    from fcreview.store.rows import ItemDetail


JsonObject = dict[str, Any]
AnswerKey = tuple[str, ...]
"""(benchmark, version, language, category, item id, hash of the golden answer)."""
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
        """Return the correction by a golden fix, else by the applied erratum.

        None without a correction.
        """
        fix = self._find_valid_fix(detail)
        if fix is not None:
            services = self._source.benchmark_services
            calls = services.parse_golden_fix(detail.run, detail.item, fix.content)
            return CorrectedGolden(calls, fix.authors) if calls else None

        erratum = detail.item.extra.erratum
        if erratum is None or erratum.stale or not detail.item.golden:
            return None
        # An erratum without names counts as one of a single annotator.
        n_annotators = max(len(erratum.who), 1)
        if n_annotators < self._min_annotators:
            return None
        return CorrectedGolden(detail.item.golden, erratum.who)

    def _find_valid_fix(self, detail: ItemDetail) -> GoldenFix | None:
        item = detail.item
        run = detail.run
        fix = self._fixes.get(
            (
                run.benchmark,
                run.generation,
                run.language,
                item.category,
                item.id,
                item.golden_hash or "",
            )
        )
        if fix is None:
            return None
        services = self._source.benchmark_services
        problem = services.explain_golden_fix_rejection(run, item, fix.content)
        return fix if problem is None else None


def _collect_fixes(source: ExportSource, min_annotators: int) -> dict[AnswerKey, GoldenFix | None]:
    """Return the golden fix of each golden answer, from the reviews of all runs, or None if
    fixes differ.
    """
    from fcreview.store.label_fields import LabelSelection
    from fcreview.store.rows import View

    fixes: dict[AnswerKey, GoldenFix | None] = {}
    for lines in source.store.iter_label_batches(View(), LabelSelection("reviewed")):
        for line in lines:
            if '"golden_fix":{' not in line:
                continue  # without the cost of parsing the label
            label = orjson.loads(line)
            if not _has_usable_fix(label, min_annotators):
                continue

            key = tuple(str(label[name] or "") for name in ANSWER_KEY_FIELDS)
            fix = GoldenFix(label["golden_fix"], list_fix_authors(label))
            known = fixes.setdefault(key, fix)
            if known is not None and canonical_json(known.content) != canonical_json(fix.content):
                fixes[key] = None
    return fixes


def _has_usable_fix(label: Label, min_annotators: int) -> bool:
    is_on_item = (label["target"], label["criterion"]) == ITEM_CORRECT
    return bool(label["golden_fix"]) and is_on_item and _is_fix_agreed(label, min_annotators)


def _is_fix_agreed(label: Label, min_annotators: int) -> bool:
    """Whether an adjudicator reviewed the item, or enough annotators recorded the fix or agree with
    the verdict.
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


ANSWER_KEY_FIELDS = ("benchmark", "generation", "language", "category", "id", "golden_hash")
MODEL_FAULTS = (None, "model")
"""Faults with which the reply of a failed item counts as wrong.

With any other fault, the reply may be right.
"""


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
    reason: str
    golden: Sequence[Call] = ()
    correction: CorrectedGolden | None = None
    group: str | None = None
    golden_hash: str = ""
    question: str = ""
    is_benchmark: bool = True
    is_model_wrong: bool = True
    is_wrong_for_corrected: bool = True
    """Whether a reply that differs from the corrected golden answer counts as wrong."""
    title: str = ""


@dataclass(slots=True)
class _RowCounts:
    rows: int = 0
    benchmark: int = 0
    corrected: int = 0
    titles: Counter[str] = field(default_factory=Counter)

    def count_row(self, item: _ReviewedItem, *, is_corrected: bool) -> None:
        self.rows += 1
        self.benchmark += item.is_benchmark
        self.corrected += is_corrected
        self.titles[item.title] += 1


def write_sft_rows(source: ExportSource, out: Sink) -> None:
    """Write the conversation of each item that passes or has a corrected golden answer. Corrected
    golden calls replace the model's reply. Equal rows with golden calls are written once.
    """
    options = source.selection.training
    counts = _RowCounts()
    digests_of_corrected_rows: set[bytes] = set()
    for item in _iter_reviewed_items(source):
        corrected = None
        if item.correction is not None and not options.exclude_benchmark_goldens:
            corrected = _build_golden_reply(item)
        if corrected is not None:
            messages = [*corrected.messages[:-1], corrected.reply]
            content = {"messages": _encode_messages(messages, options), "reply": "golden"}
            # The runs of several models give the same row, because its reply is not theirs.
            digest = _hash_row(content, item)
            if digest in digests_of_corrected_rows:
                continue
            digests_of_corrected_rows.add(digest)
        else:
            own_messages = _select_training_messages(item, options)
            if own_messages is None:
                continue
            content = {"messages": _encode_messages(own_messages, options), "reply": "model"}

        is_corrected = corrected is not None
        out.write(_encode_row(item, content, options, is_corrected=is_corrected))
        counts.count_row(item, is_corrected=is_corrected)
    _set_counts_and_dataset_card(source, "sft", counts)


def _hash_row(content: JsonObject, item: _ReviewedItem) -> bytes:
    encoded = orjson.dumps(to_plain_json([content, item.tools]))
    return blake2b(encoded, digest_size=16).digest()


def write_preference_pairs(source: ExportSource, out: Sink) -> None:
    """Write pairs of a right and a wrong reply. A question has at most `max_pairs` pairs."""
    options = source.selection.training
    items_by_question: dict[tuple[str, ...], list[_ReviewedItem]] = {}
    for item in _iter_reviewed_items(source):
        if item.passes is not None:
            items_by_question.setdefault(item.key, []).append(item)
    questions = list(items_by_question.values())
    tasks = _group_trials_by_task(questions)

    counts = _RowCounts()
    n_pairs: Counter[tuple[str, ...]] = Counter()
    written: set[bytes] = set()
    for pair in _iter_preference_pairs(questions, tasks, options):
        is_corrected = pair.kind == "golden" and pair.wrong.correction is not None
        row = _encode_row(pair.wrong, pair.to_row(options), options, is_corrected=is_corrected)
        question = pair.right.key
        if n_pairs[question] >= options.max_pairs or row in written:
            continue
        written.add(row)
        n_pairs[question] += 1
        out.write(row)
        counts.count_row(pair.wrong, is_corrected=is_corrected)
    _set_counts_and_dataset_card(source, "preference", counts)


def _group_trials_by_task(questions: Sequence[list[_ReviewedItem]]) -> list[list[_ReviewedItem]]:
    """Group the items of a run that are trials of one task: they share group, question and golden
    answer.
    """
    tasks: dict[tuple[Any, ...], list[_ReviewedItem]] = {}
    for items in questions:
        for item in items:
            if item.group is None or not item.golden_hash:
                continue
            benchmark_and_category = item.key[:4]
            task = (*benchmark_and_category, item.run, item.group, item.golden_hash, item.question)
            tasks.setdefault(task, []).append(item)
    return list(tasks.values())


def _set_counts_and_dataset_card(
    source: ExportSource, format_name: str, counts: _RowCounts
) -> None:
    source.counts.clear()
    source.counts["row"] = counts.rows
    if not counts.rows:
        return
    source.make_card = lambda file: _make_dataset_card(
        file, format_name, source.selection.training, counts
    )
    if counts.benchmark:
        source.print_note(
            f"warning: {counts.benchmark:,} of {format_count(counts.rows, 'row')} contain data from"
            " a benchmark."
            " A model trained on them has seen the test set."
        )


def _make_dataset_card(
    file_name: str, format_name: str, options: TrainingOptions, counts: _RowCounts
) -> str:
    n_rows = format_count(counts.rows, "row")
    path = json.dumps(file_name, ensure_ascii=False)
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {path}",
        "---",
        "",
        f"# Training rows: {format_name}",
        "",
    ]
    if counts.benchmark:
        lines += [
            f"> **Warning.** {counts.benchmark:,} of {n_rows} contain benchmark data (field",
            "> `contains_benchmark`). A model trained on these rows has seen the test set, so do"
            " not report its",
            "> results on these benchmarks.",
            "",
        ]

    automatic = ", and unreviewed items with an automatic verdict" if options.trust_rule else ""
    n_annotators = format_count(options.agreed, "annotator")
    lines += [
        f"* The file has {n_rows} in the format of {options.flavour}.",
        f"* The rows come from items with a verdict by at least {n_annotators} or by an"
        f" adjudicator{automatic}.",
        f"* Annotators corrected the golden calls of {format_count(counts.corrected, 'row')}.",
    ]
    for title, n_rows_of_title in counts.titles.items():
        name = json.dumps(title, ensure_ascii=False)
        lines.append(f"* {name}: {format_count(n_rows_of_title, 'row')}")
    return "\n".join([*lines, ""])


def _iter_reviewed_items(source: ExportSource) -> Iterator[_ReviewedItem]:
    options = source.selection.training
    goldens = CorrectedGoldens(source, options.agreed)
    n_incidents = 0
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            passes = _get_usable_verdict(detail, options)
            correction = goldens.find_corrected_golden(detail)
            # A correction from another run does not add an item without a verdict.
            is_own = detail.item.extra.erratum is not None or any(
                each.golden_fix for each in detail.opinions
            )
            if passes is None and (correction is None or not is_own):
                continue
            # The text of a failure is no reply of the model, whatever verdict it has.
            if detail.row.is_incident and not options.include_incidents:
                n_incidents += 1
                continue
            yield _build_reviewed_item(detail, passes, correction)
    if n_incidents:
        source.print_note(
            f"{format_count(n_incidents, 'incident')} left out. Use --include-incidents to keep"
            " them"
        )


def _get_usable_verdict(detail: ItemDetail, options: TrainingOptions) -> bool | None:
    """Return the annotators' verdict if enough of them agree or an adjudicator decided; without
    reviews, the automatic verdict if `trust_rule` is set; else None.
    """
    human = detail.row.human
    if isinstance(human, bool):
        opinions = [
            opinion
            for opinion in detail.opinions
            if (opinion.target, opinion.criterion) == ITEM_CORRECT and not opinion.stale
        ]
        is_adjudicated = any(opinion.is_adjudication for opinion in opinions)
        agreeing = {opinion.annotator for opinion in opinions if opinion.verdict is human}
        if is_adjudicated or len(agreeing) >= options.agreed:
            return human
        return None

    if human == DISPUTED or not options.trust_rule:
        return None
    verdict = detail.row.effective
    return verdict if isinstance(verdict, bool) else None


def _build_reviewed_item(
    detail: ItemDetail, passes: bool | None, correction: CorrectedGolden | None
) -> _ReviewedItem:
    item = detail.item
    run = detail.run
    opinions = [opinion for opinion in detail.opinions if opinion.target == ITEM]
    faults = {opinion.fault for opinion in opinions}
    notes = [opinion.note for opinion in opinions if opinion.note]
    is_model_wrong = faults <= set(MODEL_FAULTS)

    # If something else is at fault, the reply may be right, so it is no example of a wrong one.
    messages: list[ChatMessage] = []
    if passes or is_model_wrong or correction is not None:
        messages = _build_messages_with_dotted_names(item)
    return _ReviewedItem(
        (run.benchmark, run.generation, run.language, item.category, item.id),
        run=detail.row.run,
        passes=passes,
        messages=messages,
        tools=make_tool_definitions(item.functions),
        source={
            "benchmark": run.benchmark,
            "version": run.generation,
            "model": run.model,
            "run": detail.row.run,
            "run_name": detail.row.run_name,
            "annotators": sorted({opinion.annotator for opinion in opinions}),
        },
        reason="; ".join(notes) or item.first_difference or item.error_type or "",
        golden=item.golden if correction is None else correction.calls,
        correction=correction,
        group=item.group,
        golden_hash=item.golden_hash,
        question=item.question,
        is_benchmark=bool(item.golden_hash) or run.dataset is not None or run.needs_dataset,
        is_model_wrong=is_model_wrong,
        is_wrong_for_corrected=faults <= {*MODEL_FAULTS, "golden"},
        title=run.full_title,
    )


def _build_messages_with_dotted_names(item: Item) -> list[ChatMessage]:
    """Return the messages, with the names of functions as in their docs.

    Models with native calls write `a_b` for the function `a.b`.
    """
    docs_names = [str(function.get("name")) for function in item.functions]
    name_by_written_name = {name.replace(".", "_"): name for name in docs_names}
    messages = build_chat_messages(item)
    for message in messages:
        message.calls = [
            replace(call, name=name_by_written_name.get(call.name, call.name))
            for call in message.calls
        ]
    return messages


def _select_training_messages(
    item: _ReviewedItem, options: TrainingOptions
) -> list[ChatMessage] | None:
    """Return the messages up to the last reply of an item that passes.

    None if they cannot be training data.
    """
    if item.passes is not True:
        return None
    messages = _drop_messages_hidden_from_model(item.messages)
    while messages and messages[-1].role != "assistant":
        messages.pop()
    if not messages or not all(
        _is_complete_reply(each) for each in messages if each.role == "assistant"
    ):
        return None
    # The model may have seen or written a message of an unknown role, for which chat formats have
    # no place.
    if any(each.role == "other" for each in messages):
        return None
    if options.exclude_benchmark_goldens and any(each.is_given for each in messages):
        return None
    return messages if any(each.role == "user" for each in messages) else None


def _drop_messages_hidden_from_model(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [each for each in messages if each.role not in ("log", "state") and not each.is_for_user]


def _is_complete_reply(reply: ChatMessage) -> bool:
    """Whether a reply has content or calls, and all its calls were decoded."""
    return bool(reply.content or reply.calls) and all(
        call.arguments is not None for call in reply.calls
    )


@dataclass(slots=True)
class _Pair:
    prompt: list[ChatMessage]
    chosen: ChatMessage
    rejected: ChatMessage
    right: _ReviewedItem
    wrong: _ReviewedItem
    kind: PairKind

    def to_row(self, options: TrainingOptions) -> JsonObject:
        return {
            "prompt": _encode_messages(self.prompt, options),
            "chosen": _encode_messages([self.chosen], options),
            "rejected": _encode_messages([self.rejected], options),
            "pair": self.kind,
            "chosen_source": self.right.source,
            "reason": self.wrong.reason,
        }


def _iter_preference_pairs(
    question_groups: Sequence[list[_ReviewedItem]],
    task_groups: Sequence[list[_ReviewedItem]],
    options: TrainingOptions,
) -> Iterator[_Pair]:
    for items in question_groups:
        yield from _pair_replies(items, "runs")
    if not options.exclude_benchmark_goldens:
        for items in question_groups:
            for item in items:
                pair = None if item.passes else _pair_with_golden(item)
                if pair is not None:
                    yield pair
    for items in task_groups:
        yield from _pair_replies(items, "trials")


def _pair_replies(items: Sequence[_ReviewedItem], pair_kind: PairKind) -> Iterator[_Pair]:
    right = [each for each in items if each.passes]
    wrong = [each for each in items if each.passes is False and each.is_model_wrong]
    for one, other in product(right, wrong):
        if pair_kind == "trials" or one.run != other.run:
            pair = _pair_first_different_replies(one, other, pair_kind)
            if pair is not None:
                yield pair


def _pair_first_different_replies(
    right: _ReviewedItem, wrong: _ReviewedItem, pair_kind: PairKind
) -> _Pair | None:
    """Return a pair of the first replies that differ. None if another message differs first, or if
    a reply is incomplete.
    """
    prompt: list[ChatMessage] = []
    messages_of_right = _drop_messages_hidden_from_model(right.messages)
    messages_of_wrong = _drop_messages_hidden_from_model(wrong.messages)
    for chosen, rejected in zip(messages_of_right, messages_of_wrong, strict=False):
        if _make_message_key(chosen) == _make_message_key(rejected):
            prompt.append(chosen)
            continue

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
    calls = tuple((call.name, canonical_json(call.arguments)) for call in message.calls)
    return message.role, message.content if not calls else "", calls


def _has_equal_calls(first: ChatMessage, second: ChatMessage) -> bool:
    """Whether the calls of both replies are equal, compared as golden and predicted calls are."""
    golden_calls = []
    for index, call in enumerate(first.calls):
        arguments = {
            name: AcceptedValues([value]) for name, value in (call.arguments or {}).items()
        }
        golden_calls.append(replace(call, side="golden", index=index, arguments=arguments))
    return bool(golden_calls) and _has_accepted_calls(golden_calls, second)


def _pair_with_golden(item: _ReviewedItem) -> _Pair | None:
    is_wrong = item.is_model_wrong if item.correction is None else item.is_wrong_for_corrected
    found = _build_golden_reply(item) if is_wrong else None
    if found is None:
        return None
    messages, chosen = found
    if not _is_complete_reply(messages[-1]) or _has_accepted_calls(item.golden, messages[-1]):
        return None
    return _Pair(
        messages[:-1], chosen=chosen, rejected=messages[-1], right=item, wrong=item, kind="golden"
    )


class _GoldenReply(NamedTuple):
    messages: list[ChatMessage]
    """The conversation with the model's reply as its last message."""
    reply: ChatMessage
    """Reply with the golden calls."""


def _build_golden_reply(item: _ReviewedItem) -> _GoldenReply | None:
    """Return a reply with the golden calls that can replace the model's reply. None unless the
    conversation ends with its only reply, and the golden calls are in one step.
    """
    messages = _drop_messages_hidden_from_model(item.messages)
    replies = [
        message for message in messages if message.role == "assistant" and not message.is_given
    ]
    ends_with_only_reply = len(replies) == 1 and messages[-1] is replies[0]
    has_question = any(message.role == "user" for message in messages)
    if not ends_with_only_reply or not has_question or not item.golden:
        return None

    steps = {(call.turn, call.step) for call in item.golden}
    has_unknown_arguments = any(call.arguments is None for call in item.golden)
    if len(steps) > 1 or has_unknown_arguments:
        return None

    calls = [_build_first_accepted_call(call) for call in item.golden]
    ids = [f"call_golden_{number}" for number in range(1, len(calls) + 1)]
    return _GoldenReply(messages, ChatMessage("assistant", calls=calls, ids=ids))


def _has_accepted_calls(golden_calls: Sequence[Call], reply: ChatMessage) -> bool:
    return len(golden_calls) == len(reply.calls) and all(
        pair.state in "=~" for pair in align_calls(list(golden_calls), reply.calls)
    )


def _build_first_accepted_call(golden_call: Call) -> Call:
    arguments = golden_call.arguments or {}
    accepted = {
        name: each
        for name, each in arguments.items()
        if isinstance(each, AcceptedValues) and each.any_of
    }
    values = {name: _get_first_accepted_value(each.any_of[0]) for name, each in accepted.items()}
    return Call("predicted", golden_call.name, arguments=values)


def _get_first_accepted_value(value: Any) -> Any:
    if isinstance(value, GoldenObject):
        return {
            name: _get_first_accepted_value(each.any_of[0])
            for name, each in value.fields.items()
            if each.any_of
        }
    return [_get_first_accepted_value(each) for each in value] if isinstance(value, list) else value


def _encode_messages(messages: Sequence[ChatMessage], options: TrainingOptions) -> list[JsonObject]:
    return [_encode_message(each, options) for each in messages]


def _encode_message(message: ChatMessage, options: TrainingOptions) -> JsonObject:
    encoded: JsonObject = {"role": message.role, "content": message.content}
    if message.role == "tool":
        encoded |= {"name": message.name or "tool", "tool_call_id": message.call_id or ""}
    elif message.calls and message.role == "assistant":
        encoded["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": arguments},
            }
            for call, call_id in zip(message.calls, message.ids, strict=True)
            for plain in [to_plain_json(call.arguments)]
            for arguments in [
                json.dumps(plain, ensure_ascii=False) if options.flavour == "openai" else plain
            ]
        ]
    return encoded


def _encode_row(
    item: _ReviewedItem,
    row_content: Mapping[str, Any],
    options: TrainingOptions,
    *,
    is_corrected: bool,
) -> bytes:
    tools: Any = to_plain_json(item.tools)
    row = dict(row_content)
    row["tools"] = tools if options.flavour == "openai" else json.dumps(tools, ensure_ascii=False)
    authors = list(item.correction.authors) if item.correction is not None and is_corrected else []
    row |= {"id": item.key[-1], "source": item.source | {"golden_by": authors}}
    row["contains_benchmark"] = item.is_benchmark
    return orjson.dumps(to_plain_json(row)) + b"\n"
