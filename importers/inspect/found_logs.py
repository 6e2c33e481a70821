"""The logs that a search finds, and those that it chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class FoundLog:
    """The files of a log, with the data that identifies its run."""

    paths: list[Path]
    """Path of the log, or paths of the parts that several workers wrote, or the folder of an
    unpacked log.
    """
    fields: dict[str, Any] = field(default_factory=dict)
    """The object `eval` of the header."""
    is_in_parts: bool = False
    """Whether the files are parts of a log, which may stand beside the merged log."""

    @property
    def path(self) -> Path:
        return self.paths[0]

    @property
    def attempt_key(self) -> tuple[str, str]:
        """Key that all attempts at the same task with the same model have."""
        task_id = self.fields.get("task_id") or self.fields.get("run_id") or self.path
        return str(task_id), str(self.fields.get("model"))

    @property
    def evaluation_id(self) -> str:
        """Id that all copies of an attempt have."""
        return str(self.fields.get("eval_id") or self.fields.get("run_id") or self.created)

    @property
    def created(self) -> str:
        return str(self.fields.get("created") or "")


@dataclass(frozen=True, slots=True)
class SkippedLog:
    path: Path
    reason: str


@dataclass(slots=True)
class ChosenLog:
    """A log to import, and the other attempts and copies that are not imported."""

    log: FoundLog
    skipped: list[SkippedLog] = field(default_factory=list)
