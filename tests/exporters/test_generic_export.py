"""Items that are exported in the generic format are read again as they are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.export import export
from fcreview.exporters.generic import make_record
from fcreview.importers.generic_format.read import build_json_schema
from fcreview.importers.registry import discover, read_items
from fcreview.model.item import AcceptedValues, Call, GoldenObject, Item, Message
from fcreview.model.json_value import to_plain_json
from fcreview.store.rows import ItemDetail, View
from tests.examples import only_long
from tests.exporters.rewriting import ExportServices
from tests.importers.dialects.writers import DIALECTS, make_conversation
from tests.scores.reviewed_runs import ReviewedRuns

SAMPLES = Path(__file__).parents[2] / "sample_runs"
N_CONVERSATIONS = 200
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]


def describe(item: Item) -> dict[str, Any]:
    """Return what an export must keep."""
    return {
        "id": item.id,
        "category": item.category,
        "group": item.group,
        "messages": sorted(
            [(m.turn, m.step, m.role, m.name, m.content) for m in item.messages],
            key=lambda message: message[:2],
        ),
        "calls": sorted(
            [
                (c.turn, c.step, c.index, c.name, to_plain_json(c.arguments), c.raw, c.decode_error)
                for c in item.predicted
            ],
            key=lambda call: call[:3],
        ),
        "user_calls": item.extra.user_calls,
        "golden": [(c.turn, c.name, to_plain_json(c.arguments)) for c in item.golden],
        "tools": item.functions,
        "official": item.official,
        "judge": item.judge,
        "tokens": (item.tokens_in, item.tokens_out),
    }


def read_folder(folder: Path) -> Iterator[Item]:
    for plan in sorted(discover([folder]).plans, key=lambda plan: plan.run.path):
        for record in read_items(plan):
            if isinstance(record, Item):
                yield record


def read_again(items: Sequence[Item], folder: Path) -> list[Item]:
    folder.mkdir()
    lines = [json.dumps({"fcreview": 1, "model": "m"})]
    lines += [json.dumps(make_record(item, item.golden)) for item in items]
    (folder / "run.jsonl").write_text("\n".join(lines) + "\n")
    return list(read_folder(folder))


def list_stored_items(reviewed: ReviewedRuns) -> list[ItemDetail]:
    return [
        detail for chunk in reviewed.store.iter_details(View("", "dataset")) for detail in chunk
    ]


def check_round_trip(reviewed: ReviewedRuns, out: Path) -> None:
    services = ExportServices([SAMPLES]).benchmarks()
    counts = export(reviewed.store, "generic", out, View("", "dataset"), benchmarks=services)
    details = list_stored_items(reviewed)
    assert counts == {"item": len(details)}
    copies: dict[tuple[str, str], Item] = {}
    for item in read_folder(out):
        run = Path(item.file).name.partition("_")[0]
        copies[run, item.id] = item
    for detail in details:
        copy = copies[str(detail.row.run), detail.item.id]
        wanted = describe(detail.item)
        found = describe(copy)
        for name, value in wanted.items():
            assert found[name] == value, (detail.item.id, name)
        if copy.messages:  # fcreview reports an item without messages
            assert copy.issues == []


def test_sample_runs_are_read_as_the_same_items(open_runs: OpenRuns, tmp_path: Path) -> None:
    reviewed = open_runs([SAMPLES])
    reviewed.store.reviews.rebuild([])
    check_round_trip(reviewed, tmp_path / "out")


@pytest.mark.bench
@pytest.mark.sweep
@pytest.mark.parametrize(
    "folder",
    [
        "tau2",
        "inspect",
        "atif",
        "sessions",
        "dialects",
        pytest.param("bfcl_v1_july", marks=only_long),
        "confetti",
    ],
)
def test_published_runs_are_read_as_the_same_items(
    bench: Path, open_runs: OpenRuns, tmp_path: Path, folder: str
) -> None:
    reviewed = open_runs([bench / folder])
    reviewed.store.reviews.rebuild([])
    check_round_trip(reviewed, tmp_path / "out")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_conversations_of_all_dialects_survive(tmp_path: Path, dialect: str) -> None:
    rng = random.Random(dialect)
    lines = []
    for number in range(N_CONVERSATIONS):
        written = DIALECTS[dialect].write(make_conversation(rng))
        fields = written if isinstance(written, dict) else {"messages": written}
        lines.append(json.dumps({"id": str(number), **fields}))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/chat.jsonl").write_text("\n".join(lines) + "\n")
    items = list(read_folder(tmp_path / "logs"))
    assert len(items) == N_CONVERSATIONS
    copies = read_again(items, tmp_path / "copy")
    assert [describe(copy) for copy in copies] == [describe(item) for item in items]


def test_notes_undecoded_calls_and_calls_of_the_user_survive(tmp_path: Path) -> None:
    item = Item("a", category="x", group="g")
    item.messages = [
        Message(0, -1, role="user", content="Go."),
        Message(0, 0, role="assistant", content="I think.", name="reasoning"),
        Message(0, 0, role="assistant", content="First."),
        Message(0, 0, role="assistant", content="Second."),
        Message(0, 0, role="tool", content="one", name="f"),
        Message(0, 0, role="log", content="retry", name="runner"),
        Message(0, 1, role="state", content="{}", name="shop"),
        Message(1, 0, role="user", content="I do it myself."),
        Message(1, 0, role="tool", content="two", name="g"),
        Message(2, 0, role="tool", content="no call", name=None),
    ]
    item.predicted = [
        Call("predicted", "f", arguments={"a": [1.0, 10**20]}),
        Call("predicted", "h", arguments=None, index=1, raw="h(", decode_error="not closed"),
        Call("predicted", "g", arguments={}, turn=1),
    ]
    item.extra.user_calls = [[1, 0]]
    (copy,) = read_again([item], tmp_path / "copy")
    assert describe(copy) == describe(item)
    assert copy.predicted[0].arguments == {"a": [1.0, 10**20]}


REASONING = Message(0, 0, role="assistant", content="I think.", name="reasoning")
RESULT = Message(0, 0, role="tool", content="one", name="f")
LOG = Message(0, 0, role="log", content="retry", name="runner")
TEXT = Message(0, 0, role="assistant", content="I call f.")


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([REASONING], ["reasoning", "calls"]),
        ([REASONING, RESULT], ["reasoning", "calls", "result"]),
        ([REASONING, LOG, RESULT], ["reasoning", "calls", "log", "result"]),
        ([LOG, REASONING], ["log", "reasoning", "calls"]),
        ([REASONING, TEXT, RESULT], ["reasoning", "calls", "result"]),
        ([REASONING, RESULT, TEXT], ["reasoning", "calls", "result", "text"]),
        ([LOG, RESULT], ["log", "calls", "result"]),
        ([LOG], ["calls", "log"]),
    ],
)
def test_calls_follow_the_reasoning_and_precede_the_results(
    tmp_path: Path, messages: list[Message], wanted: list[str]
) -> None:
    item = Item("a", category="x", group="g")
    item.messages = messages
    item.predicted = [Call("predicted", "f", arguments={})]
    written = make_record(item, golden=())["messages"]
    assert [name_message(message) for message in written] == wanted
    (copy,) = read_again([item], tmp_path / "copy")
    assert describe(copy) == describe(item)


def name_message(message: dict[str, Any]) -> str:
    if message.get("tool_calls"):
        return "calls"
    if message.get("reasoning_content"):
        return "reasoning"
    return {"tool": "result", "system": "log", "assistant": "text"}[message["role"]]


LONG_INTEGER = 10**20


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ('{"x": 100000000000000000000}', {"x": LONG_INTEGER}),
        ('{"x": [1, {"y": -100000000000000000000}]}', {"x": [1, {"y": -LONG_INTEGER}]}),
        ('{"x": NaN, "y": 100000000000000000000}', {"x": "NaN", "y": LONG_INTEGER}),
        ('{"x": 1e400}', {"x": "1e400"}),
        ('{"x": "100000000000000000000"}', {"x": "100000000000000000000"}),
    ],
)
def test_numbers_of_a_stored_call_are_those_of_its_text(
    tmp_path: Path, open_runs: OpenRuns, raw: str, written: Any
) -> None:
    (stored, *_), _ = export_call(tmp_path, open_runs, raw)
    assert json.loads(stored["function"]["arguments"]) == written


def test_argument_values_that_are_text_instead_of_numbers_are_counted(
    tmp_path: Path, open_runs: OpenRuns
) -> None:
    golden = [{"name": "f", "arguments": {"x": LONG_INTEGER, "y": 1}}]
    _, notes = export_call(tmp_path, open_runs, '{"x": NaN, "y": 1}', golden)
    assert notes == ["2 argument values written as text, such as NaN or an integer beyond 64 bits"]
    _, notes = export_call(tmp_path / "kept", open_runs, '{"x": 100000000000000000000}')
    assert notes == []


@pytest.mark.parametrize("depth", [90, 400, 900])
def test_deeply_nested_arguments_are_exported(
    tmp_path: Path, open_runs: OpenRuns, depth: int
) -> None:
    raw = '{"x": ' + "[" * depth + "100000000000000000000" + "]" * depth + "}"
    (call, *_), _ = export_call(tmp_path, open_runs, raw)
    assert call["fcreview"]["raw"] == raw
    assert json.loads(call["function"]["arguments"])["x"]


def export_call(
    folder: Path, open_runs: OpenRuns, raw: str, golden: Sequence[Any] = ()
) -> tuple[list[Any], list[str]]:
    """Import and export an item with one call. Return the written calls, and the notes."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": raw}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
    ]
    record = {"id": "a", "category": "x", "messages": messages, "golden": list(golden)}
    run_folder = folder / "run"
    run_folder.mkdir(parents=True)
    (run_folder / "run.jsonl").write_text(json.dumps(record) + "\n")
    reviewed = open_runs([run_folder])
    reviewed.store.reviews.rebuild([])
    services = ExportServices([run_folder])
    export(
        reviewed.store,
        "generic",
        folder / "out",
        View("", "dataset"),
        benchmarks=services.benchmarks(),
    )
    (path,) = (folder / "out").glob("*.jsonl")
    _, line = path.read_text().splitlines()
    return json.loads(line)["messages"][1]["tool_calls"], services.messages


def test_golden_answers_with_alternatives_survive(tmp_path: Path) -> None:
    nested = GoldenObject({"unit": AcceptedValues(["C", "F"], optional=True)})
    arguments = {
        "city": AcceptedValues(["Oslo", "Bergen"], optional=True),
        "options": AcceptedValues([[nested], {"plain": 1}]),
        "any": AcceptedValues([{"any_of": [1]}]),
    }
    item = Item("a", category="x")
    item.messages = [Message(0, -1, role="user", content="Go.")]
    item.golden = [Call("golden", "f", arguments=arguments, turn=1)]
    (copy,) = read_again([item], tmp_path / "copy")
    assert copy.golden[0].arguments == arguments
    assert copy.golden[0].turn == 1


@pytest.mark.parametrize(("rule", "wanted"), [(True, []), (None, None)])
def test_empty_golden_answer_differs_from_none(rule: bool | None, wanted: Any) -> None:
    item = Item("a", category="x", rule=rule)
    assert make_record(item, []).get("golden") == wanted


def test_records_match_the_published_schema(tmp_path: Path) -> None:
    places = build_json_schema()["$defs"]
    assert {"MessagePlace", "CallDecoding"} <= places.keys()


def test_placed_messages_report_what_they_do_not_read(tmp_path: Path) -> None:
    place = {"turn": 0, "step": -1}
    messages = [
        {"role": "user", "content": "Go.", "fcreview": place, "mood": "good"},
        {"role": "assistant", "content": "Done."},
    ]
    record = {"id": "a", "messages": messages, "category": "x"}
    (tmp_path / "run.jsonl").write_text(json.dumps(record) + "\n")
    (item,) = read_folder(tmp_path)
    assert [issue.what for issue in item.issues] == [
        "messages[0]: field mood is not read",
        "messages[1]: no turn and step, so those of the message before it",
    ]
