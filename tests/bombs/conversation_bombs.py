"""Bombs of HammerBench, of ComplexFuncBench and of conversations in BFCL and ACEBench."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, SAMPLE_RUNS, Bomb, Json, name_values, nest, write_lines

BFCL_ITEM = "multi_turn_base_0"
BFCL_RESULTS = "result/maple-8b/multi_turn/BFCL_v4_multi_turn_base_result.json"
ACEBENCH_ITEM = "agent_multi_turn_0"
ACEBENCH_RESULTS = "result_all/result_en/maple-8b/data_agent_multi_turn_result.json"
HAMMERBENCH_ITEM = "Based_0_2"
HAMMERBENCH_LOG = "logs/en/maple-8b.json"
COMPLEXFUNCBENCH_ITEM = "Hotels-0"
COMPLEXFUNCBENCH_RESULTS = "result/maple-8b/sample.jsonl"
Change = Callable[[Json], None]


def copy_run(benchmark: str, folder: Path) -> None:
    other_runs = shutil.ignore_patterns("zh", "legacy", ".fcreview")
    shutil.copytree(SAMPLE_RUNS / benchmark, folder, ignore=other_runs, dirs_exist_ok=True)


def change_line(path: Path, item: str, change: Change, replaced: str = "") -> None:
    """Change the record of an item. `replaced`: JSON text in place of the text `REPLACED`."""
    records = [json.loads(line) for line in path.read_text().splitlines() if line]
    for record in records:
        if record.get("id") == item:
            change(record)
    write_lines(path, records)
    if replaced:
        path.write_text(path.read_text().replace('"REPLACED"', replaced))


def write_bfcl_steps(folder: Path, steps: list[Any]) -> None:
    """Write a BFCL conversation whose first turn has these steps."""
    copy_run("bfcl", folder)

    def change(record: Json) -> None:
        record["result"][0] = steps
        first_turn = record["inference_log"][1]
        record["inference_log"][1] = {"begin_of_turn_query": first_turn["begin_of_turn_query"]} | {
            f"step_{number}": [
                {"role": "assistant", "content": step},
                {"role": "handler_log", "content": "decoded", "model_response_decoded": [step]},
                {"role": "tool", "content": "null"},
            ]
            for number, step in enumerate(steps)
        }

    change_line(folder / BFCL_RESULTS, BFCL_ITEM, change)


def bfcl_steps(folder: Path, size: int) -> None:
    write_bfcl_steps(folder, [f"[mkdir(dir_name='d{number}')]" for number in range(size)])


def bfcl_calls_in_a_step(folder: Path, size: int) -> None:
    calls = ", ".join(f"mkdir(dir_name='d{number}')" for number in range(size))
    write_bfcl_steps(folder, [f"[{calls}]"])


def acebench_steps(folder: Path, size: int) -> None:
    copy_run("acebench", folder)
    steps = [f"[turn_on_wifi(n={number})]" for number in range(size)]
    change_line(
        folder / ACEBENCH_RESULTS, ACEBENCH_ITEM, lambda record: record.update(process=steps)
    )


def write_hammerbench(folder: Path, predict: str) -> None:
    copy_run("hammerbench", folder)
    path = folder / HAMMERBENCH_LOG
    entries = json.loads(path.read_text())
    for entry in entries:
        if entry["id"] == HAMMERBENCH_ITEM:
            entry["predict"] = predict
    path.write_text(json.dumps(entries))


def hammerbench_deep(folder: Path, size: int) -> None:
    write_hammerbench(folder, f'{{"name": "f", "parameters": {{"a": {nest(size)}}}}}')


def hammerbench_wide(folder: Path, size: int) -> None:
    write_hammerbench(folder, json.dumps({"name": "f", "parameters": name_values(size)}))


def hammerbench_long(folder: Path, size: int) -> None:
    write_hammerbench(folder, "x" * (size * MEGABYTE))


def hammerbench_repeated_id(folder: Path, size: int) -> None:
    copy_run("hammerbench", folder)
    path = folder / HAMMERBENCH_LOG
    entries = json.loads(path.read_text())
    repeated = [entry for entry in entries if entry["id"] == HAMMERBENCH_ITEM] * size
    path.write_text(json.dumps(entries + repeated))


def hammerbench_messages(folder: Path, size: int) -> None:
    """`size` snapshots of one conversation, of one message each."""
    copy_run("hammerbench", folder)
    path = folder / HAMMERBENCH_LOG
    entries = json.loads(path.read_text())
    (entry,) = [entry for entry in entries if entry["id"] == HAMMERBENCH_ITEM]
    entries += [entry | {"id": f"Based_9_{number}"} for number in range(1, size)]
    path.write_text(json.dumps(entries))


def write_complexfuncbench(folder: Path, messages: list[Json], replaced: str = "") -> None:
    copy_run("complexfuncbench", folder)

    def change(record: Json) -> None:
        record["gen_convs"] = [record["gen_convs"][0], *messages]

    path = folder / COMPLEXFUNCBENCH_RESULTS
    change_line(path, COMPLEXFUNCBENCH_ITEM, change, replaced)


def make_call(arguments: Any) -> Json:
    return {"name": "Search_Hotels", "arguments": arguments}


def complexfuncbench_deep(folder: Path, size: int) -> None:
    message = {"role": "assistant", "function_call": [make_call({"a": "REPLACED"})]}
    write_complexfuncbench(folder, [message], nest(size))


def complexfuncbench_wide(folder: Path, size: int) -> None:
    message = {"role": "assistant", "function_call": [make_call(name_values(size))]}
    write_complexfuncbench(folder, [message])


def complexfuncbench_long(folder: Path, size: int) -> None:
    message = {"role": "assistant", "content": "x" * (size * MEGABYTE)}
    write_complexfuncbench(folder, [message])


def complexfuncbench_calls(folder: Path, size: int) -> None:
    calls = [make_call({"n": number}) for number in range(size)]
    results = [{"status": True} for _ in range(size)]
    messages: list[Json] = [
        {"role": "assistant", "function_call": calls},
        {"role": "observation", "content": results},
    ]
    write_complexfuncbench(folder, messages)


def complexfuncbench_steps(folder: Path, size: int) -> None:
    messages: list[Json] = []
    for number in range(size):
        messages.append({"role": "assistant", "function_call": [make_call({"n": number})]})
        messages.append({"role": "observation", "content": [{"status": True}]})
    write_complexfuncbench(folder, messages)


def complexfuncbench_log(folder: Path, size: int) -> None:
    """An evaluation log of `size` times the usual length."""
    copy_run("complexfuncbench", folder)
    path = folder / "result/maple-8b/sample/logs/Hotels-0.log"
    path.write_text(path.read_text() * size)


BFCL_BOMBS = {
    "many steps": Bomb(bfcl_steps, BFCL_ITEM, size=5_000, small_size=300),
    "calls in a step": Bomb(bfcl_calls_in_a_step, BFCL_ITEM, size=25_000, small_size=0),
}
ACEBENCH_BOMBS = {
    "many steps": Bomb(acebench_steps, ACEBENCH_ITEM, size=10_000, small_size=300),
}
HAMMERBENCH_BOMBS = {
    "deep": Bomb(hammerbench_deep, HAMMERBENCH_ITEM, size=20_000, small_size=5_000),
    "wide": Bomb(hammerbench_wide, HAMMERBENCH_ITEM, size=80_000, small_size=0),
    "long": Bomb(hammerbench_long, HAMMERBENCH_ITEM, size=2, small_size=0),
    "repeated id": Bomb(hammerbench_repeated_id, HAMMERBENCH_ITEM, size=5_000, small_size=100),
    "many snapshots": Bomb(hammerbench_messages, HAMMERBENCH_ITEM, size=5_000, small_size=0),
}
COMPLEXFUNCBENCH_BOMBS = {
    "deep": Bomb(complexfuncbench_deep, "Hotels-1", size=20_000, small_size=5_000),
    "wide": Bomb(complexfuncbench_wide, COMPLEXFUNCBENCH_ITEM, size=80_000, small_size=0),
    "long": Bomb(complexfuncbench_long, COMPLEXFUNCBENCH_ITEM, size=2, small_size=0),
    "calls in a turn": Bomb(
        complexfuncbench_calls, COMPLEXFUNCBENCH_ITEM, size=25_000, small_size=500
    ),
    "many steps": Bomb(complexfuncbench_steps, COMPLEXFUNCBENCH_ITEM, size=10_000, small_size=300),
    "many scores": Bomb(complexfuncbench_log, COMPLEXFUNCBENCH_ITEM, size=200, small_size=0),
}
