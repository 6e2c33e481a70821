"""Make item ids from task and trial, so that a task's items have the same ids in all runs."""

from __future__ import annotations

from typing import Any, TypeGuard

from fcreview.model.item import ImportIssue


def is_trial(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def is_task_id(value: Any) -> bool:
    return (isinstance(value, str) and value != "") or is_trial(value)


class ItemIds:
    """Assigns the ids `TASK_trial_N`. A missing or repeated trial gets another id and an issue."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def add(self, task: str, trial: Any, file: str, line: int, simulation: str = "") -> tuple[str, ImportIssue | None]:
        """Return the id of a simulation, and an issue if its trial is missing or occurs twice.

        In that case, the item id also contains `simulation` (the simulation's own id) or, without it, the line number.
        """
        item_id = f"{task}_trial_{trial}"
        if is_trial(trial) and item_id not in self.known:
            self.known.add(item_id)
            return item_id, None
        what = f"trial {trial} of task {task} occurs more than once" if is_trial(trial) else f"task {task} has no trial"
        item_id = f"{task}_{simulation}" if simulation else f"{item_id if is_trial(trial) else task}#{line}"
        while item_id in self.known:
            item_id += f"#{line}"
        self.known.add(item_id)
        return item_id, ImportIssue(file, line, f"{what}; imported as {item_id}", item=item_id)
