"""Describe how fcreview chose the dataset of a run."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.model.item import RunFact

if TYPE_CHECKING:
    from fcreview.run_plan import RunPlan
    from fcreview.store.importing.source_files import DatasetFolders

MAX_NEARBY_FOLDERS = 6
"""Number of folders above a run in which importers look for a dataset."""


@dataclass(frozen=True, slots=True)
class DatasetSources:
    """Folders in which fcreview looks for datasets."""

    named: Sequence[Path]
    """Folders of --data."""
    remembered: DatasetFolders | None
    """Folders of earlier commands, or None if there is no workspace."""
    environment: Sequence[Path]
    configured: Sequence[Path]


def set_dataset_facts(plans: Sequence[RunPlan], sources: DatasetSources) -> None:
    """Add the fact `dataset_version` to each run with a dataset."""
    for plan in plans:
        run = plan.run
        if run.dataset is None or not plan.data:
            continue
        language = "" if run.language == "en" else run.language
        version = " ".join(word for word in (run.generation, language) if word)
        reason = _find_reason(plan, sources)
        run.facts["dataset_version"] = RunFact("dataset_version", value=version, reason=reason)


def _find_reason(plan: RunPlan, sources: DatasetSources) -> str:
    """Return why the dataset of a run was chosen, such as `chosen by --data`. Empty if the reason
    is unknown.

    Folders are checked in the order in which fcreview searches them.
    """
    if _contains_dataset(sources.named, plan):
        return "chosen by --data"
    if sources.remembered is not None:
        if _contains_dataset(sources.remembered.get_dataset_folders(plan.run), plan):
            return "remembered from an earlier command"
        if _contains_dataset(sources.remembered.most_common_folders, plan):
            return "the dataset of most other runs"
    if _contains_dataset(sources.environment, plan):
        return "found by FCREVIEW_DATA"
    if _contains_dataset(sources.configured, plan):
        return "found by the configuration"

    run_folder = Path(plan.run.path)
    if _contains_dataset([run_folder], plan):
        return "in the folder of the run"
    if _contains_dataset(_list_package_folders(), plan):
        return "from an installed package"
    if _contains_dataset(run_folder.parents[:MAX_NEARBY_FOLDERS], plan):
        return "found beside the run"
    return ""


def _list_package_folders() -> list[Path]:
    return [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]


def _contains_dataset(folders: Sequence[Path], plan: RunPlan) -> bool:
    """Whether one of the folders contains a dataset file.

    A root folder contains every file, so it does not count.
    """
    for folder in folders:
        is_root = folder.parent == folder
        if is_root:
            continue
        absolute_folder = os.path.abspath(folder)  # noqa: PTH100 - keep links
        if any(Path(path).is_relative_to(absolute_folder) for path in plan.data):
            return True
    return False
