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
from fcreview.model.json_value import answer_hash

JsonObject = dict[str, Any]
CORRECT_REWARD = "correct"
"""Name of the reward that says by itself whether a rollout is right."""
ENDING_FIELDS = frozenset({"is_completed", "stop_condition", "is_truncated"})
"""Fields of a legacy rollout that data sets with prompts, completions and rewards have not."""
KEY_LENGTH = 12
"""Number of characters of the hash that names a task without an id."""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files of a run. This is the plan's `importer_data`."""

    rollouts: Path
    is_legacy: bool = False
    config: Path | None = None
    """`configs/resolved/eval.json`, or `metadata.json` of a legacy run."""
    model: str | None = None
    """Model whose episodes are read, empty for episodes that name none. None if all episodes of the
    file are of one model.
    """

    def has_rollout(self, rollout: JsonObject) -> bool:
        return self.model is None or get_model_name(rollout) == self.model


def is_episode(record: Any) -> bool:
    """Whether a JSON value is an episode of verifiers 0.4."""
    fields = as_object(record)
    has_traces = isinstance(fields.get("traces"), list)
    return (
        has_traces and isinstance(fields.get("task"), dict) and isinstance(fields.get("env"), dict)
    )


def is_legacy_rollout(record: Any) -> bool:
    """Whether a JSON value is a legacy rollout. A rollout can lack its `example_id`."""
    fields = as_object(record)
    if "prompt" not in fields or "completion" not in fields:
        return False
    if "example_id" in fields:
        return "reward" in fields or "stop_condition" in fields
    return "reward" in fields and bool(fields.keys() & ENDING_FIELDS)


def read_rollouts(files: RunFiles) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the rollouts of a run, and an issue for each line of the file that is none."""
    is_rollout = is_legacy_rollout if files.is_legacy else is_episode
    expected = "prompt, completion and reward" if files.is_legacy else "traces, task and env"
    for record in read_records(files.rollouts):
        if isinstance(record, ImportIssue):
            yield record
        elif is_rollout(record.value):
            if files.has_rollout(record.value):
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


def list_models(episode: JsonObject) -> list[str]:
    """Return the models that the main agent of an episode called, each once."""
    calls = list_objects(choose_main_trace(episode).get("calls"))
    models = [call.get("model") for call in calls]
    names = [model for model in models if isinstance(model, str) and model.strip()]
    return list(dict.fromkeys(names))


def get_model_name(episode: JsonObject) -> str:
    """Return the model of an episode: the first model that the main agent called. Empty if the
    first request failed, or if the file does not record calls.
    """
    models = list_models(episode)
    return models[0] if models else ""


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
        # A reward without a weight counts once.
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
    has_stated_group: bool = True
    """Whether the rollout names its task. If not, its question does."""


@dataclass(slots=True)
class RolloutNamer:
    """Names rollouts in the order of the file. Repeats of a task are its trials."""

    is_legacy: bool
    _n_rollouts: Counter[str] = field(default_factory=Counter)

    def name(self, record: JsonRecord) -> RolloutName:
        """Return the id of a rollout: the group of its example, and its number in the group."""
        stated_group = self._find_stated_group(record.value)
        group = stated_group or self._name_by_question(record)
        trial = self._n_rollouts[group]
        self._n_rollouts[group] += 1
        item_id = f"{group}_rollout_{trial}"
        return RolloutName(
            item_id, group=group, trial=trial, has_stated_group=stated_group is not None
        )

    def _find_stated_group(self, rollout: JsonObject) -> str | None:
        return _name_example(rollout) if self.is_legacy else _name_task(rollout)

    def _name_by_question(self, record: JsonRecord) -> str:
        """Return a name that is equal for equal questions, or the line if there is no question."""
        rollout: JsonObject = record.value
        if self.is_legacy:
            question = rollout.get("prompt")
        else:
            question = as_object(rollout.get("task")).get("data")
        kind = "example" if self.is_legacy else "task"
        if not question:
            return f"{kind}_line_{record.line}"
        return f"{kind}_{answer_hash(question)[:KEY_LENGTH]}"


def _name_example(rollout: JsonObject) -> str | None:
    example = _read_id(rollout.get("example_id"))
    return None if example is None else f"example_{example}"


def _name_task(episode: JsonObject) -> str | None:
    """Return the key of the task, else its index, or None without both."""
    task = as_object(episode.get("task"))
    key = task.get("key")
    if isinstance(key, str) and key:
        return key
    index = _read_id(as_object(task.get("data")).get("idx"))
    return None if index is None else f"task_{index}"


def _read_id(value: Any) -> str | None:
    """Return a text or whole number as an id. Programs that use tables write 1 as 1.0."""
    if isinstance(value, str):
        return value or None
    if is_integer(value):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None
