"""The union of two workspaces' queues: what is not here is taken; what is here stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fcreview.store.annotators import same_file
from fcreview.store.queues.file import (
    QueueError,
    QueueFile,
    check_name,
    queue_names,
    read_queue,
    read_queues,
    write_queue,
)

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

State = Literal["new", "known", "differs", "unreadable"]


@dataclass(frozen=True, slots=True)
class MergedQueue:
    """What came of one queue of the other workspace."""

    queue: str
    state: State
    """`known`: the same is here, whenever it was made. `differs`: another of this name is here; both are kept."""
    kept_as: str = ""
    """The name that it has here, or would have."""
    why: str = ""
    """Why it could not be read."""


def merge_queues(workspace: Workspace, other: Workspace) -> list[MergedQueue]:
    """One answer a queue of the other workspace, by name. QueueError if the disk says no."""
    return [_taken(workspace, found) for found in read_queues(other)]


def _taken(workspace: Workspace, found: QueueFile | QueueError) -> MergedQueue:
    if isinstance(found, QueueError):
        return MergedQueue("", "unreadable", why=str(found))
    try:
        check_name(found.name)
    except QueueError as error:  # the others are taken all the same
        return MergedQueue(found.name, "unreadable", why=str(error))
    here = {name: name for name in queue_names(workspace)}
    same = next((name for name in here if same_file(name, found.name)), None)
    if same is None:
        write_queue(workspace, found)
        return MergedQueue(found.name, "new", found.name)
    number = 1
    name = found.name
    while same is not None:
        if _alike(workspace, same, found):
            return MergedQueue(found.name, "known" if number == 1 else "differs", same)
        number += 1
        name = f"{found.name}-{number}"
        same = next((known for known in here if same_file(known, name)), None)
    write_queue(workspace, _renamed(found, name))
    return MergedQueue(found.name, "differs", name)


def _alike(workspace: Workspace, name: str, found: QueueFile) -> bool:
    try:
        return _renamed(read_queue(workspace, name), found.name).same_as(found)
    except QueueError:
        return False


def _renamed(queue: QueueFile, name: str) -> QueueFile:
    return QueueFile(name, queue.created, queue.design, queue.strata, queue.items, queue.shares)
