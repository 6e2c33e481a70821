"""Fields and names of verifiers rollouts, which the search, the import and the export share.

The forms are those of verifiers 0.4 (`verifiers/v1`) and of 0.1 to 0.3 (`verifiers/legacy`; commit
a60a606ec, August 2026).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import as_object, is_integer, list_objects
from fcreview.importers.common.rewards import read_reward
from fcreview.model.item import ImportIssue

JsonObject = dict[str, Any]
CORRECT_REWARD = "correct"
"""Name of the reward that says by itself whether a rollout is right."""
LEGACY_FIELDS = ("example_id", "prompt", "completion")


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files of a run. This is the plan's `importer_data`."""

    rollouts: Path
    is_legacy: bool = False
    config: Path | None = None
    """`configs/resolved/eval.json`, or `metadata.json` of a legacy run."""


def is_episode(record: Any) -> bool:
    """Whether a JSON value is an episode of verifiers 0.4."""
    fields = as_object(record)
    has_traces = isinstance(fields.get("traces"), list)
    return (
        has_traces and isinstance(fields.get("task"), dict) and isinstance(fields.get("env"), dict)
    )


def is_legacy_rollout(record: Any) -> bool:
    fields = as_object(record)
    return all(name in fields for name in LEGACY_FIELDS) and (
        "reward" in fields or "stop_condition" in fields
    )


def read_rollouts(files: RunFiles) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the rollouts, and an issue for each line that is none."""
    is_rollout = is_legacy_rollout if files.is_legacy else is_episode
    expected = "example_id, prompt and completion" if files.is_legacy else "traces, task and env"
    for record in read_records(files.rollouts):
        if isinstance(record, ImportIssue) or is_rollout(record.value):
            yield record
        else:
            what = f"the line is not a rollout: it has not the fields {expected}"
            yield ImportIssue(str(files.rollouts), record.line, what=what, severity="error")


def choose_main_trace(episode: JsonObject) -> JsonObject:
    """Return the trace of the agent that is trained, else the first one; empty without a trace."""
    traces = list_objects(episode.get("traces"))
    for trace in traces:
        if as_object(trace.get("agent")).get("trainable") is True:
            return trace
    return traces[0] if traces else {}


def get_agent_name(trace: JsonObject) -> str:
    name = as_object(trace.get("agent")).get("name")
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class Reward:
    score: float
    weight: float


def read_rewards(trace: Mapping[str, Any]) -> dict[str, Reward]:
    """Return the rewards by name, without those that were not computed."""
    rewards: dict[str, Reward] = {}
    for name, written in as_object(trace.get("rewards")).items():
        fields = as_object(written)
        score = read_reward(fields.get("score"))
        weight = read_reward(fields.get("weight", 1.0))
        if score is not None and weight is not None:
            rewards[name] = Reward(score, weight)
    return rewards


def compute_total(rewards: Mapping[str, Reward]) -> float | None:
    """Return the sum of the weighted scores; None if no reward was computed."""
    if not rewards:
        return None
    return sum(reward.score * reward.weight for reward in rewards.values())


@dataclass(frozen=True, slots=True)
class RolloutName:
    item_id: str
    group: str
    trial: int
    """Number of the rollout of the task, from 0: its position in the file."""


@dataclass(slots=True)
class RolloutNamer:
    """Names rollouts in the order of the file. Repeats of a task are its trials."""

    is_legacy: bool
    _n_rollouts: Counter[str] = field(default_factory=Counter)

    def name(self, rollout: JsonObject) -> RolloutName:
        group = _name_example(rollout) if self.is_legacy else _name_task(rollout)
        trial = self._n_rollouts[group]
        self._n_rollouts[group] += 1
        return RolloutName(f"{group}_rollout_{trial}", group=group, trial=trial)


def _name_example(rollout: JsonObject) -> str:
    example = rollout.get("example_id")
    return f"example_{example}" if isinstance(example, str) or is_integer(example) else "example"


def _name_task(episode: JsonObject) -> str:
    """Return the key of the task, else its index."""
    task = as_object(episode.get("task"))
    key = task.get("key")
    if isinstance(key, str) and key:
        return key
    index = as_object(task.get("data")).get("idx")
    return f"task_{index}" if is_integer(index) else "task"
