"""Fill items of tau-bench 1, 2 and 3, whose formats the tau importer has.

The reply is the JSON text of what the official program returns: the result of the solver in
tau-bench 1, the whole simulation in tau2-bench and tau3-bench. The metadata are the task.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.common.records import add_issue, as_object
from fcreview.importers.dialects.conversation import ParsedConversation
from fcreview.importers.evalscope.conversations import fill_plain_item, parse_json_or_none
from fcreview.importers.evalscope.incidents import find_written_error
from fcreview.importers.evalscope.leaderboard import TRIAL
from fcreview.importers.evalscope.samples import JsonObject, Sample
from fcreview.importers.tau.read import SharedRunData, fill_simulation_item, hash_task
from fcreview.importers.tau.version1 import fill_version1_item
from fcreview.model.item import Item
from fcreview.model.json_value import answer_hash

OWN_FIELDS = ("task_result", "_domain")
"""Fields that EvalScope adds to the task of tau2-bench and tau3-bench."""


def fill_tau1_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of tau-bench, which EvalScope ran, with the importer of tau-bench.

    The reply of the sample is the JSON object that tau-bench's solver returned. If the run failed,
    there is only an error.
    """
    result = _parse_reply(sample)
    error = _find_task_result(sample).get("error")
    if result is None and error is None:
        add_issue(item, "the reply is not the JSON object of the solver's result")
        fill_plain_item(item, sample, conversation)
        return

    entry = _make_entry(item, sample, result or {}, error)
    info = entry["info"]
    item.prediction_hash = answer_hash(entry["traj"])
    item.golden_hash = answer_hash(info["task"]) if "task" in info else ""
    fill_version1_item(item, entry, info)


def _make_entry(item: Item, sample: Sample, result: JsonObject, error: Any) -> JsonObject:
    """Make the entry that a result file of tau-bench has for a sample."""
    info = dict(as_object(result.get("info")))
    if error is not None:
        info["error"] = error
    return {
        "task_id": sample.metadata.get("task_index"),
        "trial": item.extra.metadata.get(TRIAL, 0),
        "reward": result.get("reward", _find_task_result(sample).get("reward")),
        "info": info,
        "traj": result.get("messages", []),
    }


def fill_tau2_item(item: Item, sample: Sample, conversation: ParsedConversation) -> None:
    """Fill an item of tau2-bench or tau3-bench, which EvalScope ran, with the importer of
    tau-bench.

    The reply of the sample is the JSON object of a simulation, and its metadata is the task.
    Without a simulation, only the messages are shown.
    """
    simulation = _parse_reply(sample)
    task = {name: value for name, value in sample.metadata.items() if name not in OWN_FIELDS}
    if simulation is None:
        # The adapter of tau3-bench writes an exception as the reply, which is an incident.
        if find_written_error(sample.reply_text) is None:
            add_issue(item, "the reply is not the JSON object of a simulation")
        fill_plain_item(item, sample, conversation)
        return

    simulation.setdefault("trial", item.extra.metadata.get(TRIAL, 0))
    item.golden_hash = hash_task(task)
    domain = sample.metadata.get("_domain")
    data = SharedRunData(domain=domain if isinstance(domain, str) else item.category)
    fill_simulation_item(item, simulation, task, data)


def _parse_reply(sample: Sample) -> JsonObject | None:
    value: Any = parse_json_or_none(sample.reply_text or "")
    return value if isinstance(value, dict) and value else None


def _find_task_result(sample: Sample) -> JsonObject:
    reviewed = as_object(as_object(sample.score.get("metadata")).get("task_result"))
    return reviewed or as_object(sample.metadata.get("task_result"))
