"""Fields and names of rollouts, which the search, the import and the export share.

The form is that of NeMo Gym's `nemo_gym/rollout_collection.py` (commit 07d6b0d07, August 2026).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import as_list, as_object, is_integer
from fcreview.model.item import ImportIssue
from fcreview.model.json_value import answer_hash

JsonObject = dict[str, Any]
REQUEST = "responses_create_params"
RESPONSE = "response"
REWARD = "reward"
MASK = "mask_sample"
TASK_INDEX = "_ng_task_index"
ROLLOUT_INDEX = "_ng_rollout_index"
ATTEMPT_INDEX = "_ng_attempt_index"
FAILURE_CLASS = "_ng_failure_class"
AGENT = "agent_ref"
MAX_FLATTENED_DEPTH = 20
KEY_LENGTH = 12
"""Number of characters of the hash that names a task without an index."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Agent and model of rollouts. Rollouts of others are in the same file."""

    agent: str
    model: str | None
    """Empty for rollouts that name none, such as failed requests; None for any model."""

    def has_rollout(self, rollout: JsonObject) -> bool:
        is_of_model = self.model is None or get_model_name(rollout) == self.model
        return is_of_model and get_agent_name(rollout) == self.agent


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files of the rollouts of one agent and model. This is the plan's `importer_data`."""

    rollouts: Path
    """Rollouts, with or without failed attempts. It may be a file of failed attempts only."""
    failures: Path | None = None
    """File of failed attempts beside the rollouts."""
    materialized_inputs: Path | None = None
    """Inputs that were to be run, each repeated for every rollout."""
    datasets: tuple[Path, ...] = ()
    """Inputs of the environment's data sets, which can have golden answers."""
    aggregate: Path | None = None
    owner: Owner | None = None
    """Whose rollouts are read; None if all rollouts of the file are of one agent and one model."""

    def list_rollout_files(self) -> list[Path]:
        """Return the files that contain rollouts or failed attempts."""
        return [self.rollouts, self.failures] if self.failures else [self.rollouts]


def is_input(record: Any) -> bool:
    """Whether a JSON value is an input: what a model is asked, without a response."""
    fields = as_object(record)
    if not isinstance(fields.get(REQUEST), dict):
        return False
    return not fields.keys() & {RESPONSE, REWARD, FAILURE_CLASS}


def is_rollout(record: Any) -> bool:
    """Whether a JSON value is a rollout. The response of a request that failed may be null, and a
    failed attempt may have none.
    """
    fields = as_object(record)
    if not isinstance(fields.get(REQUEST), dict):
        return False
    return RESPONSE in fields or is_failure(fields)


def is_failure(record: Any) -> bool:
    """Whether a row is a failed attempt. This depends on the row, not on its file, because files
    are often joined.
    """
    return as_object(record).get(FAILURE_CLASS) not in (None, "")


def get_agent_name(rollout: JsonObject) -> str:
    name = as_object(rollout.get(AGENT)).get("name")
    return name if isinstance(name, str) else ""


def get_model_name(rollout: JsonObject) -> str:
    """Return the model of a rollout as it is written, or an empty text if it names none."""
    model = as_object(rollout.get(RESPONSE)).get("model")
    return model if isinstance(model, str) and model.strip() else ""


def get_owner(rollout: JsonObject) -> Owner:
    return Owner(agent=get_agent_name(rollout), model=get_model_name(rollout))


def read_rollouts(path: Path, owner: Owner | None) -> Iterator[JsonRecord | ImportIssue]:
    """Yield the rollouts of an owner, and an issue for each line that is no rollout."""
    for record in read_records(path):
        if isinstance(record, ImportIssue):
            yield record
        elif not isinstance(record.value, dict):
            what = "the line is not a rollout: it is no JSON object"
            yield ImportIssue(str(path), record.line, what=what, severity="error")
        elif owner is None or owner.has_rollout(record.value):
            yield record


def flatten_output(written: Sequence[Any], *, depth: int = 0) -> Iterator[Any]:
    """Yield the items of an output. Some environments write lists of items in it."""
    for item in written:
        if isinstance(item, list) and depth < MAX_FLATTENED_DEPTH:
            yield from flatten_output(item, depth=depth + 1)
        else:
            yield item


def get_task_index(rollout: JsonObject) -> int | None:
    index = rollout.get(TASK_INDEX)
    return index if is_integer(index) else None


def get_rollout_index(rollout: JsonObject) -> int | None:
    index = rollout.get(ROLLOUT_INDEX)
    return index if is_integer(index) else None


def compute_question_key(row: JsonObject) -> str:
    """Return a key that is equal for equal questions: the hash of the roles and texts of the input.

    An input file may write the same messages in another form than the rollouts, for example
    without `type`.
    """
    items = as_object(row.get(REQUEST)).get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    return answer_hash([_list_role_and_text(item) for item in as_list(items)])


def _list_role_and_text(item: Any) -> list[Any]:
    """Return what tells one message or call from others: its role or type, and its text."""
    fields = as_object(item)
    if "role" in fields:
        return [fields["role"], _get_text(fields.get("content"))]
    return [fields.get("type"), fields.get("name"), fields.get("arguments"), fields.get("output")]


def _get_text(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    texts = [as_object(part).get("text") for part in content]
    return "".join(text for text in texts if isinstance(text, str))


@dataclass(frozen=True, slots=True)
class RolloutName:
    item_id: str
    group: str
    """Name of the task, which all its rollouts share."""
    trial: int
    """Number of the rollout of the task, from 0."""


@dataclass(slots=True)
class RolloutNamer:
    """Names rollouts in the order of the file.

    Older files have no indexes. There, rollouts with equal inputs are trials of one task.
    """

    _n_rollouts: Counter[str] = field(default_factory=Counter)
    _used_ids: set[str] = field(default_factory=set)

    def name(self, record: JsonRecord) -> RolloutName:
        """Return the item id of a rollout, its group (the task) and its number: `task_3_rollout_0`.

        A rollout without a task is grouped by its question. If an id occurs again, the line is
        added to it.
        """
        rollout: JsonObject = record.value
        task = get_task_index(rollout)
        if task is None:
            group = f"input_{compute_question_key(rollout)[:KEY_LENGTH]}"
        else:
            group = f"task_{task}"
        trial = get_rollout_index(rollout)
        if trial is None:
            trial = self._n_rollouts[group]
        self._n_rollouts[group] += 1

        item_id = f"{group}_rollout_{trial}"
        if item_id in self._used_ids:
            item_id = f"{item_id}#{record.line}"
        self._used_ids.add(item_id)
        return RolloutName(item_id, group=group, trial=trial)
