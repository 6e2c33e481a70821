"""Write runs of every format in which some requests failed and the others have an ordinary reply.

Each writer takes one entry for each item: a failure, or the text of an ordinary reply. The ordinary
replies are near misses: they are about errors, or contain the results of tools that failed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Plant:
    """A failure to plant, with its kind.

    `form` chooses between the ways in which a format can state it.
    """

    kind: str
    text: str
    form: int


Entry = Plant | str
"""A failure, or the text of an ordinary reply."""
Writer = Callable[[Path, Sequence[Entry]], list[str]]
"""Writes a run and returns the ids of its items, in the order of the entries."""

TOKENS = {"input_token_count": 90, "output_token_count": 14, "latency": 0.7}
NO_TOKENS = {"input_token_count": 0, "output_token_count": 0, "latency": 0.1}


def write_lines(path: Path, records: Sequence[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_bfcl_v1(folder: Path, entries: Sequence[Entry]) -> list[str]:
    """Write the result file of a Gemini model.

    A text is a message of Google's service, or a finish reason.
    """
    records = []
    for number, entry in enumerate(entries):
        if isinstance(entry, Plant):
            records.append({"idx": number, "result": make_google_result(entry), **NO_TOKENS})
        else:
            records.append({"idx": number, "result": entry, **TOKENS})
    write_lines(
        folder / "result/gemini-mock/gorilla_openfunctions_v1_test_relevance_result.json", records
    )
    return [f"relevance_{number}" for number in range(len(entries))]


def make_google_result(plant: Plant) -> Any:
    """Return the candidate with a finish reason as object or text, or the service's message."""
    if not plant.text.isupper():
        return plant.text
    candidate = {"finishReason": plant.text, "safetyRatings": []}
    return candidate if plant.form % 2 else "Parsing error: " + json.dumps(candidate)


def write_bfcl_v3(folder: Path, entries: Sequence[Entry]) -> list[str]:
    records = [
        make_bfcl_record(f"irrelevance_{number}", entry) for number, entry in enumerate(entries)
    ]
    write_lines(folder / "result/mock-prompt/BFCL_v3_irrelevance_result.json", records)
    return [record["id"] for record in records]


def write_bfcl_v4(folder: Path, entries: Sequence[Entry]) -> list[str]:
    """Write single-turn, multi-turn and format-sensitivity results, a third of the items each."""
    categories: tuple[tuple[str, str], ...] = (
        ("non_live", "simple_python"),
        ("multi_turn", "multi_turn_base"),
        ("format_sensitivity", "format_sensitivity"),
    )
    config = (
        "ret_fmt=json&tool_call_tag=False&func_doc_fmt=python&prompt_fmt=plaintext&style=classic"
    )
    records: dict[tuple[str, str], list[Json]] = {category: [] for category in categories}
    ids = []
    for number, entry in enumerate(entries):
        category = categories[number % len(categories)]
        name = f"{category[1]}_{number}"
        if category[1] == "format_sensitivity":
            name = f"{name}:{config}:simple_python_{number}"
        record = make_bfcl_record(name, entry)
        if category[1] == "multi_turn_base" and not isinstance(entry, Plant):
            record["result"] = [[[{"ls": "{}"}], entry]]
        records[category].append(record)
        ids.append(name)
    for (group, category), of_category in records.items():
        write_lines(
            folder / f"result/mock-prompt/{group}/BFCL_v4_{category}_result.json", of_category
        )
    return ids


def make_bfcl_record(item_id: str, entry: Entry) -> Json:
    if not isinstance(entry, Plant):
        return {"id": item_id, "result": entry, **TOKENS}
    record: Json = {"id": item_id, "result": f"Error during inference: {entry.text}"}
    if entry.form % 2:
        record["traceback"] = f"Traceback (most recent call last):\n  ...\n{entry.text}"
    return record


TOOL_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_order_details", "arguments": "{}"},
}


def write_tau_v1(folder: Path, entries: Sequence[Entry]) -> list[str]:
    task: Json = {"user_id": "ida", "instruction": "Cancel an order.", "actions": [], "outputs": []}
    listed = []
    for number, entry in enumerate(entries):
        if isinstance(entry, Plant):
            info = {"task": task, "error": entry.text, "traceback": f"Traceback ...\n{entry.text}"}
            listed.append({"task_id": number, "trial": 0, "reward": 0.0, "info": info, "traj": []})
            continue
        checks = {"reward": 1.0, "info": {"r_actions": 1.0, "gt_data_hash": "x"}, "actions": []}
        messages = [
            {"role": "user", "content": "Please help."},
            {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]},
            {
                "role": "tool",
                "tool_call_id": "call_1",
                "name": "get_order_details",
                "content": entry,
            },
            {"role": "assistant", "content": entry},
        ]
        info = {"task": task, "source": "user", "reward_info": checks}
        listed.append(
            {"task_id": number, "trial": 0, "reward": 1.0, "info": info, "traj": messages}
        )
    write_json(folder / "tool-calling-mock-0.0_range_0--1_user-mock-llm.json", listed)
    return [f"{number}_trial_0" for number in range(len(entries))]


def write_tau2(folder: Path, entries: Sequence[Entry]) -> list[str]:
    criteria = {"actions": [], "communicate_info": [], "reward_basis": ["DB"]}
    tasks = [{"id": str(number), "evaluation_criteria": criteria} for number in range(len(entries))]
    simulations = []
    for number, entry in enumerate(entries):
        simulation: Json = {"id": f"s{number}", "task_id": str(number), "trial": 0}
        if isinstance(entry, Plant):
            simulation |= {
                "termination_reason": "infrastructure_error",
                "messages": [],
                "reward_info": None,
            }
            simulation["info"] = {
                "error": entry.text,
                "error_type": "Exception",
                "failed_after_attempts": 4,
            }
        else:
            call = {"id": "c", "name": "get_time", "arguments": {}}
            simulation |= {
                "termination_reason": "user_stop",
                "reward_info": {
                    "reward": 0.0,
                    "reward_basis": ["DB"],
                    "reward_breakdown": {"DB": 0.0},
                },
                "messages": [
                    {"role": "assistant", "content": "Hi!"},
                    {"role": "user", "content": "What time is it?"},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "id": "c", "content": entry, "error": True},
                    {"role": "assistant", "content": entry},
                    {"role": "user", "content": "###STOP###"},
                ],
            }
        simulations.append(simulation)
    info = {
        "num_trials": 1,
        "agent_info": {"implementation": "llm_agent", "llm": "mock"},
        "user_info": {"implementation": "user_simulator", "llm": "mock"},
        "environment_info": {"domain_name": "mock", "policy": ""},
    }
    write_json(folder / "results.json", {"info": info, "tasks": tasks, "simulations": simulations})
    return [f"{number}_trial_0" for number in range(len(entries))]


STOP_REASONS = {"context_length": "model_length", "content_filter": "content_filter"}


def write_inspect(folder: Path, entries: Sequence[Entry]) -> list[str]:
    samples = [make_inspect_sample(f"q{number}", entry) for number, entry in enumerate(entries)]
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "made",
            "task_id": "t1",
            "eval_id": "e1",
            "run_id": "r1",
            "model": "mock/model",
            "created": "2026-01-01T00:00:00+00:00",
            "dataset": {"samples": len(samples)},
            "config": {},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": []},
        "stats": {},
        "samples": samples,
    }
    write_json(folder / "2026-01-01T00-00-00-00-00_made_t1.json", log)
    return [sample["id"] for sample in samples]


def make_inspect_sample(sample_id: str, entry: Entry) -> Json:
    """A failure is the sample's error, the error of the output, or the stop reason of a reply
    with its text.
    """
    text = entry.text if isinstance(entry, Plant) else entry
    choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
    output: Json = {"model": "mock", "choices": [choice], "completion": text}
    user = {"role": "user", "content": "Name a town."}
    called = {"id": "c", "function": "search", "arguments": {}}
    sample: Json = {
        "id": sample_id,
        "epoch": 1,
        "input": "Name a town.",
        "target": "Turku",
        "output": output,
    }
    if not isinstance(entry, Plant):
        sample["messages"] = [
            user,
            {"role": "assistant", "content": "", "tool_calls": [called]},
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": "",
                "error": {"type": "timeout", "message": text},
            },
            choice["message"],
        ]
        sample["scores"] = {"match": {"value": "I", "explanation": text}}
        return sample

    sample["messages"] = [user]
    if entry.kind in STOP_REASONS and entry.form % 3 == 0:
        choice["stop_reason"] = STOP_REASONS[entry.kind]
        sample["messages"].append(choice["message"])
        sample["scores"] = {"match": {"value": "I"}}
    elif entry.form % 3 == 1:
        output |= {"choices": [], "completion": "", "error": text}
    else:
        output |= {"choices": [], "completion": ""}
        sample["error"] = {
            "message": f"RuntimeError({text!r})",
            "traceback": text,
            "traceback_ansi": text,
        }
    return sample


def write_harbor(folder: Path, entries: Sequence[Entry]) -> list[str]:
    names = []
    for number, entry in enumerate(entries):
        name = f"tidy-{number}__aaaa{number:03}"
        result: Json = {
            "id": name,
            "task_name": f"tidy-{number}",
            "trial_name": name,
            "source": "desk",
            "config": {"trial_name": name},
            "exception_info": None,
            "agent_info": {
                "name": "kite",
                "version": "1",
                "model_info": {"name": "maple", "provider": "leaf"},
            },
        }
        step = {"step_id": 2, "source": "agent", "message": "done"}
        if isinstance(entry, Plant):
            result["exception_info"] = {
                "exception_type": "RuntimeError",
                "exception_message": entry.text,
            }
            result["verifier_result"] = (
                {"rewards": {"reward": 1.0}} if entry.form % 4 == 0 else None
            )
        else:
            result["verifier_result"] = {"rewards": {"reward": 0.0}}
            step |= {"message": entry, "observation": {"results": [{"content": entry}]}}
        steps = [{"step_id": 1, "source": "user", "message": "Tidy the logs."}, step]
        trajectory = {
            "schema_version": "ATIF-v1.7",
            "session_id": name,
            "agent": {"name": "kite", "version": "1"},
        }
        write_json(folder / "job" / name / "result.json", result)
        write_json(folder / "job" / name / "agent/trajectory.json", {**trajectory, "steps": steps})
        names.append(name)
    return names


LOG_TIME = "2026-01-01 10:00:00,000"


def write_complexfuncbench(folder: Path, entries: Sequence[Entry]) -> list[str]:
    """A failure is a log without result record that ends without outcome, with the text as its
    last error.
    """
    records = []
    ids = [f"Hotels-{number}" for number in range(len(entries))]
    for name, entry in zip(ids, entries, strict=True):
        head = f"{LOG_TIME} - evaluation_logger_{name}"
        lines = [f"{head} - INFO - Test Example {name}", f"{head} - INFO - Query: Find me a hotel."]
        if isinstance(entry, Plant):
            lines.append(f"{head} - ERROR - {entry.text}")
        else:
            lines.append(f"{head} - INFO - Final Response: {entry}")
            lines.append(f"{head} - INFO - Message: Success.")
            dialogue = [
                {"role": "user", "content": "Find me a hotel."},
                {"role": "assistant", "content": entry},
            ]
            counts = {
                "success_turn_num": 1,
                "total_turn_num": 1,
                "correct_call_num": 1,
                "total_call_num": 1,
            }
            scores = {
                "complete": {"score": 2, "reason": entry},
                "correct": {"score": 2, "reason": entry},
            }
            record = {
                "id": name,
                "gen_convs": dialogue,
                "message": "Success.",
                "count_dict": counts,
            }
            records.append({**record, "resp_eval": scores})
        log = folder / "result/mock/full-1000/logs" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(lines) + "\n")
    write_lines(folder / "result/mock/full-1000.jsonl", records)
    return ids


def write_generic(folder: Path, entries: Sequence[Entry]) -> list[str]:
    records = [make_generic_record(f"g{number}", entry) for number, entry in enumerate(entries)]
    write_lines(folder / "mock.jsonl", [{"fcreview": 1, "model": "mock"}, *records])
    return [record["id"] for record in records]


def make_generic_record(item_id: str, entry: Entry) -> Json:
    """A failure is an error text or object, a finish reason, or the error in an OpenAI response."""
    messages: list[Json] = [{"role": "user", "content": "Open a ticket."}]
    if not isinstance(entry, Plant):
        reply: list[Json] = [
            {"role": "assistant", "tool_calls": [TOOL_CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": entry},
            {"role": "assistant", "content": entry},
        ]
        return {
            "id": item_id,
            "category": "desk",
            "messages": messages + reply,
            "finish_reason": "stop",
        }

    if entry.kind == "content_filter" and entry.form % 2:
        blocked = [{"role": "assistant", "content": "I cannot help with that."}]
        record = {"id": item_id, "category": "desk", "messages": messages + blocked}
        return {**record, "finish_reason": "content_filter"}
    if entry.form % 3 == 0:
        return {"id": item_id, "category": "desk", "messages": messages, "error": entry.text}
    if entry.form % 3 == 1:
        error = {"message": entry.text, "type": "made"}
        return {"id": item_id, "category": "desk", "messages": messages, "error": error}
    body = {"error": {"message": entry.text}}
    return {
        "id": item_id,
        "request": {"messages": messages},
        "response": {"status_code": 200, "body": body},
    }


WRITERS: dict[str, Writer] = {
    "bfcl_v1": write_bfcl_v1,
    "bfcl_v3": write_bfcl_v3,
    "bfcl_v4": write_bfcl_v4,
    "tau_v1": write_tau_v1,
    "tau2": write_tau2,
    "inspect": write_inspect,
    "harbor": write_harbor,
    "complexfuncbench": write_complexfuncbench,
    "generic": write_generic,
}

GOOGLE_TEXTS: dict[str, tuple[str, ...]] = {
    "server": ("Internal error occurred.", "Internal error occurred. Please retry or report it."),
    "rate_limit": (
        "Quota exceeded for generate_requests_per_minute with base model: gemini-mock.",
    ),
    "bad_request": (
        "Invalid JSON payload received. Unknown name \"any_of\" at 'tools[0]': Cannot find field.",
    ),
    "content_filter": ("SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST"),
    "unparsable": ("MALFORMED_FUNCTION_CALL",),
    "unknown": ("Error", "OTHER"),
}
"""Kind -> failures of the V1 handlers of Google models: texts, and finish reasons in capitals."""

SUBJECTS = (
    "The server",
    "Your request",
    "The API",
    "The file",
    "The payment",
    "Hotel search",
    "The lamp",
    "Room 429",
)
NEAR_MISS_FORMS = (
    "Error: No function available for {}.",
    "Error, not enough information provided about {}.",
    'Parsing error: {{"args": "{}"}}',
    "Timeout: end_time={}",
    "I'm sorry, but I cannot help with {}.",
    "{} has a rate limit of 429 requests per minute.",
    "{} timed out, so I tried it again and it worked.",
    "The log of {} says: Error code: 503 - Service Unavailable",
    '{{"error": "no matching function for {}"}}',
    '{{"error": "{} failed", "error_message": "Traceback (most recent call last)"}}',
    "None of the functions can change {}.",
    "Error during execution: {} is not available",
    "Exception: {} raised KeyError: 'arguments'",
    "{} exceeded the maximum context length of 8192 tokens.",
    "Content filter: {} was blocked by our safety system.",
    "Unable to reach {}: connection refused. Please try again later.",
    "None",
    "Error",
)


def make_near_miss(choose: random.Random) -> str:
    """Return an ordinary reply or tool result in words that errors also use."""
    return choose.choice(NEAR_MISS_FORMS).format(choose.choice(SUBJECTS))
