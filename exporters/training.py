"""Export training rows from reviewed items: conversations (`sft`) and pairs of replies (`preference`), one JSON object
per line, in TRL's conversational format. Tools are JSON text, because lists of different schemas cannot have the same
Arrow type. With the flavour `openai`, arguments are JSON text too.

A preference pair ends at the first reply that differs. If people corrected the golden answer, by an applied erratum or
a golden fix, it replaces the reply of a conversation that has only one reply. A golden fix on one run counts for the
same question in other runs. It counts if an adjudicator gave it, or if it is the only fix and annotators do not
disagree on the item."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.exporters.base import ExportSource, Label, Sink
from fcreview.exporters.golden_patch import list_fix_authors
from fcreview.matching.align import align
from fcreview.matching.conversation import ChatMessage, build_chat_messages, make_tool_definitions
from fcreview.model.item import AcceptedValues, Call, GoldenObject
from fcreview.model.json_value import canonical_json, to_plain_json
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import DISPUTED, same_verdict
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.store.labels import TrainingOptions
    from fcreview.store.rows import ItemDetail


JsonObject = dict[str, Any]
QuestionKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CorrectedGolden:
    calls: Sequence[Call]
    authors: Sequence[str]
    """Annotators who corrected the golden answer; may be empty for an erratum."""


class CorrectedGoldens:
    """Finds the corrected golden answer of an item, on which `agreed` annotators agree or which an adjudicator gave."""

    def __init__(self, source: ExportSource, agreed: int) -> None:
        self._source = source
        self._agreed = agreed
        self._fixes = _collect_fixes(source, agreed)

    def find(self, detail: ItemDetail) -> CorrectedGolden | None:
        """Return the golden calls of the item's fix, else of its applied erratum, else None."""
        item, run = detail.item, detail.run
        fix = self._fixes.get(
            (run.benchmark, run.generation, run.language, item.category, item.id, item.golden_hash or "")
        )
        if fix is not None and self._source.benchmarks.golden_problem(run, item, fix[0]) is None:
            calls = self._source.benchmarks.golden_calls(run, item, fix[0])
            return CorrectedGolden(calls, fix[1]) if calls else None
        erratum = item.extra.erratum
        if erratum is None or erratum.stale or not item.golden or self._agreed > max(len(erratum.who), 1):
            return None
        return CorrectedGolden(item.golden, erratum.who)


def _collect_fixes(source: ExportSource, agreed: int) -> dict[QuestionKey, tuple[JsonObject, list[str]] | None]:
    """Collect the golden fix of each question, with its authors, from all runs. The value is None if the fixes
    differ."""
    from fcreview.store.labels import LabelSelection
    from fcreview.store.rows import View

    found: dict[QuestionKey, tuple[JsonObject, list[str]] | None] = {}
    for lines in source.store.iter_label_lines(View(), LabelSelection("reviewed")):
        for label in (orjson.loads(line) for line in lines if '"golden_fix":{' in line):
            fix = label["golden_fix"]
            if (label["target"], label["criterion"]) != ITEM_CORRECT or not fix or not _is_agreed(label, agreed):
                continue
            names = ("benchmark", "generation", "language", "category", "id", "golden_hash")
            key = tuple(str(label[name] or "") for name in names)
            known = found.setdefault(key, (fix, list_fix_authors(label)))
            if known is not None and canonical_json(known[0]) != canonical_json(fix):
                found[key] = None
    return found


def _is_agreed(label: Label, agreed: int) -> bool:
    if label["decided_by"] == DISPUTED:
        return False
    current = [each for each in label["opinions"] if not each["stale"]]
    agreeing = {
        each["annotator"] for each in current
        if each["golden_fix"] == label["golden_fix"] or same_verdict(each["value"], label["human"])
    }  # fmt: skip
    return len(agreeing) >= agreed or any(each["act"] == "adjudicate" for each in current)


MODEL_FAULTS = (None, "model")
"""Faults that mean that the reply of a failed item is really wrong. With any other fault, the reply may be right."""


@dataclass(slots=True)
class _Reviewed:
    key: tuple[str, ...]
    """Identity of the question: benchmark, version, language, category and id."""
    run: int
    passes: bool | None
    """Verdict on the item. None for an item that has no usable verdict but a corrected golden answer."""
    messages: list[ChatMessage]
    """Conversation. Empty for a failed item whose reply may be right, unless the golden answer was corrected."""
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

    def add(self, item: _Reviewed, *, is_corrected: bool) -> None:
        self.rows += 1
        self.benchmark += item.is_benchmark
        self.corrected += is_corrected
        self.titles[item.title] += 1


def write_sft(source: ExportSource, out: Sink) -> None:
    """Write a row for each item that passes or has a corrected golden answer, which replaces the model's reply. Of
    equal rows with corrected calls, only the first is written."""
    options = source.selection.training
    counts = _RowCounts()
    seen: set[bytes] = set()
    for item in _iter_reviewed_items(source):
        found = None if options.exclude_benchmark_goldens or item.correction is None else _build_golden_reply(item)
        corrected = [*found[0][:-1], found[1]] if found is not None else None
        messages = corrected or _select_supervised_messages(item, options)
        if messages is None:
            continue
        content = {"messages": _encode_messages(messages, options), "reply": "golden" if corrected else "model"}
        if corrected:
            digest = blake2b(orjson.dumps(to_plain_json([content, item.tools])), digest_size=16).digest()
            if digest in seen:
                continue
            seen.add(digest)
        out.write(_encode(item, content, options, is_corrected=bool(corrected)))
        counts.add(item, is_corrected=bool(corrected))
    _finish_export(source, "sft", counts)


def write_preferences(source: ExportSource, out: Sink) -> None:
    """Write the pairs of each question, at most `max_pairs`."""
    options = source.selection.training
    questions: dict[tuple[str, ...], list[_Reviewed]] = {}
    for item in _iter_reviewed_items(source):
        if item.passes is not None:
            questions.setdefault(item.key, []).append(item)
    tasks: dict[tuple[Any, ...], list[_Reviewed]] = {}
    for items in questions.values():
        for item in items:
            if item.group is not None and item.golden_hash:
                task = (*item.key[:4], item.run, item.group, item.golden_hash, item.question)
                tasks.setdefault(task, []).append(item)
    counts = _RowCounts()
    n_pairs: Counter[tuple[str, ...]] = Counter()
    seen: set[bytes] = set()
    for pair in _iter_pairs(list(questions.values()), list(tasks.values()), options):
        key = pair.right.key
        is_corrected = pair.kind == "golden" and pair.wrong.correction is not None
        body = _encode(pair.wrong, pair.row(options), options, is_corrected=is_corrected)
        if n_pairs[key] < options.max_pairs and body not in seen:
            seen.add(body)
            n_pairs[key] += 1
            out.write(body)
            counts.add(pair.wrong, is_corrected=is_corrected)
    _finish_export(source, "preference", counts)


def _finish_export(source: ExportSource, name: str, counts: _RowCounts) -> None:
    source.counts.clear()
    source.counts["row"] = counts.rows
    if not counts.rows:
        return
    source.make_card = lambda file: _make_card(file, name, source.selection.training, counts)
    if counts.benchmark:
        source.print_note(
            f"warning: {counts.benchmark:,} of {format_count(counts.rows, 'row')} contain benchmark data."
            " A model trained on them has seen the test set."
        )


def _make_card(file: str, name: str, options: TrainingOptions, counts: _RowCounts) -> str:
    lines = ["---", "configs:", "- config_name: default", "  data_files:", "  - split: train"]
    lines += [f"    path: {json.dumps(file, ensure_ascii=False)}", "---", "", f"# Training rows: {name}", ""]
    if counts.benchmark:
        lines += [
            f"> **Warning.** {counts.benchmark:,} of {format_count(counts.rows, 'row')} contain benchmark data (field",
            "> `contains_benchmark`). A model that is trained on them has seen the test set, so do not report its",
            "> results on these benchmarks.",
            "",
        ]
    automatic = ", and unreviewed items with an automatic verdict" if options.trust_rule else ""
    lines += [
        f"* {format_count(counts.rows, 'row')} in the format of {options.flavour}.",
        f"* The rows are from items with a verdict by at least {format_count(options.agreed, 'annotator')} or by an"
        f" adjudicator{automatic}.",
        f"* {format_count(counts.corrected, 'row')} with golden calls that annotators corrected.",
        *(f"* {json.dumps(title, ensure_ascii=False)}: {format_count(n, 'row')}" for title, n in counts.titles.items()),
    ]
    return "\n".join([*lines, ""])


def _iter_reviewed_items(source: ExportSource) -> Iterator[_Reviewed]:
    options = source.selection.training
    goldens = CorrectedGoldens(source, options.agreed)
    for chunk in source.items():
        for detail in chunk:
            passes = _get_usable_verdict(detail, options)
            correction = goldens.find(detail)
            # A correction may belong to the same question in another run only.
            is_own = detail.item.extra.erratum is not None or any(each.golden_fix for each in detail.opinions)
            if passes is not None or (correction is not None and is_own):
                yield _build_reviewed(detail, passes, correction)


def _get_usable_verdict(detail: ItemDetail, options: TrainingOptions) -> bool | None:
    """Return the annotators' verdict if enough of them agree or an adjudicator gave it. Otherwise return the automatic
    verdict with `trust_rule`, else None."""
    human = detail.row.human
    if isinstance(human, bool):
        current = [each for each in detail.opinions if (each.target, each.criterion) == ITEM_CORRECT and not each.stale]
        agreeing = {each.annotator for each in current if each.verdict is human}
        is_adjudicated = any(each.is_adjudication for each in current)
        return human if is_adjudicated or len(agreeing) >= options.agreed else None
    if human == DISPUTED or not options.trust_rule:
        return None
    verdict = detail.row.effective
    return verdict if isinstance(verdict, bool) else None


def _build_reviewed(detail: ItemDetail, passes: bool | None, correction: CorrectedGolden | None) -> _Reviewed:
    item, run = detail.item, detail.run
    messages = build_chat_messages(item)
    names = {str(each.get("name")).replace(".", "_"): str(each.get("name")) for each in item.functions}
    for message in messages:  # models with native calls write `a_b` for the name `a.b`
        message.calls = [replace(call, name=names.get(call.name, call.name)) for call in message.calls]
    opinions = [each for each in detail.opinions if each.target == ITEM_CORRECT[0]]
    notes = [each.note for each in opinions if each.note]
    faults = {each.fault for each in opinions}
    is_wrong = faults <= set(MODEL_FAULTS)
    name = {"benchmark": run.benchmark, "version": run.generation, "model": run.model, "run": detail.row.run}
    return _Reviewed(
        (run.benchmark, run.generation, run.language, item.category, item.id), detail.row.run, passes,
        messages if passes or is_wrong or correction is not None else [], make_tool_definitions(item.functions),
        name | {"annotators": sorted({each.annotator for each in opinions})},
        "; ".join(notes) or item.first_difference or item.error_type or "",
        correction.calls if correction is not None else item.golden, correction, item.group, item.golden_hash,
        item.question, bool(item.golden_hash) or run.dataset is not None or run.needs_dataset, is_wrong,
        faults <= {*MODEL_FAULTS, "golden"}, run.full_title,
    )  # fmt: skip


def _select_supervised_messages(item: _Reviewed, options: TrainingOptions) -> list[ChatMessage] | None:
    if item.passes is not True:
        return None
    messages = _drop_logs(item.messages)
    while messages and messages[-1].role != "assistant":
        messages.pop()
    if not messages or not all(_is_complete(each) for each in messages if each.role == "assistant"):
        return None
    if options.exclude_benchmark_goldens and any(each.is_given for each in messages):
        return None
    return messages if any(each.role == "user" for each in messages) else None


def _drop_logs(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [each for each in messages if each.role not in ("log", "state") and not each.is_for_user]


def _is_complete(message: ChatMessage) -> bool:
    return bool(message.content or message.calls) and all(call.arguments is not None for call in message.calls)


@dataclass(slots=True)
class _Pair:
    prompt: list[ChatMessage]
    chosen: ChatMessage
    rejected: ChatMessage
    right: _Reviewed
    wrong: _Reviewed
    kind: str

    def row(self, options: TrainingOptions) -> JsonObject:
        return {
            "prompt": _encode_messages(self.prompt, options),
            "chosen": _encode_messages([self.chosen], options),
            "rejected": _encode_messages([self.rejected], options),
            "pair": self.kind,
            "chosen_source": self.right.source,
            "reason": self.wrong.reason,
        }


def _iter_pairs(
    questions: Sequence[list[_Reviewed]], tasks: Sequence[list[_Reviewed]], options: TrainingOptions
) -> Iterator[_Pair]:
    for items in questions:
        yield from _pair_replies(items, "runs")
    if not options.exclude_benchmark_goldens:
        for items in questions:
            for item in items:
                pair = None if item.passes else _pair_with_golden(item)
                if pair is not None:
                    yield pair
    for items in tasks:
        yield from _pair_replies(items, "trials")


def _pair_replies(items: Sequence[_Reviewed], kind: str) -> Iterator[_Pair]:
    right = [each for each in items if each.passes]
    wrong = [each for each in items if each.passes is False and each.is_model_wrong]
    for one, other in product(right, wrong):
        if one is not other and (kind == "trials" or one.run != other.run):
            pair = _pair_first_difference(one, other, kind)
            if pair is not None:
                yield pair


def _pair_first_difference(right: _Reviewed, wrong: _Reviewed, kind: str) -> _Pair | None:
    """Pair the first replies that differ. None if another message differs first, or a reply is incomplete."""
    prompt: list[ChatMessage] = []
    for one, other in zip(_drop_logs(right.messages), _drop_logs(wrong.messages), strict=False):
        if _make_content_key(one) == _make_content_key(other):
            prompt.append(one)
            continue
        is_usable = one.role == other.role == "assistant" and not one.is_given and not other.is_given
        if not is_usable or not _is_complete(one) or not _is_complete(other) or _has_equal_calls(one, other):
            return None
        has_question = any(each.role == "user" for each in prompt)
        return _Pair(prompt, one, other, right, wrong, kind) if has_question else None
    return None


def _make_content_key(message: ChatMessage) -> tuple[Any, ...]:
    calls = tuple((call.name, canonical_json(call.arguments)) for call in message.calls)
    return message.role, message.content if not calls else "", calls


def _has_equal_calls(one: ChatMessage, other: ChatMessage) -> bool:
    golden = [
        Call("golden", call.name, {name: AcceptedValues([value]) for name, value in (call.arguments or {}).items()},
             call.turn, call.step, index)
        for index, call in enumerate(one.calls)
    ]  # fmt: skip
    return bool(golden) and _is_accepted(golden, other)


def _pair_with_golden(item: _Reviewed) -> _Pair | None:
    is_wrong = item.is_model_wrong if item.correction is None else item.is_wrong_for_corrected
    found = _build_golden_reply(item) if is_wrong else None
    if found is None:
        return None
    messages, chosen = found
    if not _is_complete(messages[-1]) or _is_accepted(item.golden, messages[-1]):
        return None
    return _Pair(messages[:-1], chosen, messages[-1], item, item, "golden")


def _build_golden_reply(item: _Reviewed) -> tuple[list[ChatMessage], ChatMessage] | None:
    """Return the conversation, and a reply with the golden calls that can replace its last message. Returns None if the
    conversation does not end with its only reply, or if the golden calls are in several steps."""
    messages = _drop_logs(item.messages)
    replies = [each for each in messages if each.role == "assistant" and not each.is_given]
    if len(replies) != 1 or messages[-1] is not replies[0] or not item.golden:
        return None
    calls = [_get_first_accepted_call(call) for call in item.golden if call.arguments is not None]
    if len({(call.turn, call.step) for call in item.golden}) > 1 or len(calls) < len(item.golden):
        return None
    ids = [f"call_golden_{number}" for number in range(1, len(calls) + 1)]
    chosen = ChatMessage("assistant", calls=calls, ids=ids)
    return (messages, chosen) if any(each.role == "user" for each in messages) else None


def _is_accepted(golden: Sequence[Call], reply: ChatMessage) -> bool:
    return len(golden) == len(reply.calls) and all(pair.state in "=~" for pair in align(list(golden), reply.calls))


def _get_first_accepted_call(call: Call) -> Call:
    arguments = call.arguments or {}
    accepted = {name: each for name, each in arguments.items() if isinstance(each, AcceptedValues) and each.any_of}
    return Call("predicted", call.name, {name: _get_first_value(each.any_of[0]) for name, each in accepted.items()})


def _get_first_value(value: Any) -> Any:
    if isinstance(value, GoldenObject):
        return {name: _get_first_value(each.any_of[0]) for name, each in value.fields.items() if each.any_of}
    return [_get_first_value(each) for each in value] if isinstance(value, list) else value


def _encode_messages(messages: Sequence[ChatMessage], options: TrainingOptions) -> list[JsonObject]:
    return [_encode_message(each, options) for each in messages]


def _encode_message(message: ChatMessage, options: TrainingOptions) -> JsonObject:
    encoded: JsonObject = {"role": message.role, "content": message.content}
    if message.role == "tool":
        encoded |= {"name": message.name or "tool", "tool_call_id": message.call_id or ""}
    elif message.calls and message.role == "assistant":
        encoded["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
            for call, call_id in zip(message.calls, message.ids, strict=True)
            for plain in [to_plain_json(call.arguments)]
            for arguments in [json.dumps(plain, ensure_ascii=False) if options.flavour == "openai" else plain]
        ]
    return encoded


def _encode(item: _Reviewed, content: Mapping[str, Any], options: TrainingOptions, *, is_corrected: bool) -> bytes:
    tools: Any = to_plain_json(item.tools)
    row = dict(content)
    row["tools"] = tools if options.flavour == "openai" else json.dumps(tools, ensure_ascii=False)
    authors = list(item.correction.authors) if item.correction is not None and is_corrected else []
    row |= {"id": item.key[-1], "source": item.source | {"golden_by": authors}}
    row["contains_benchmark"] = item.is_benchmark
    return orjson.dumps(to_plain_json(row)) + b"\n"
