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
    """Return how the dataset was chosen, as a phrase.

    The order is the precedence of the folders.
    """
    folders_by_reason: dict[str, Sequence[Path]] = {"chosen by --data": sources.named}
    if sources.remembered is not None:
        folders_by_reason["remembered from an earlier command"] = (
            sources.remembered.get_dataset_folders(plan.run)
        )
        folders_by_reason["the dataset of most other runs"] = sources.remembered.most_common_folders
    folders_by_reason["found by FCREVIEW_DATA"] = sources.environment
    folders_by_reason["found by the configuration"] = sources.configured
    folders_by_reason["in the folder of the run"] = [Path(plan.run.path)]
    folders_by_reason["from an installed package"] = _list_package_folders()
    folders_by_reason["found beside the run"] = list(Path(plan.run.path).parents)[
        :MAX_NEARBY_FOLDERS
    ]
    for reason, folders in folders_by_reason.items():
        if _contains_dataset(folders, plan):
            return reason
    return ""


def _list_package_folders() -> list[Path]:
    return [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]


def _contains_dataset(folders: Sequence[Path], plan: RunPlan) -> bool:
    """Whether one of the folders contains a dataset file.

    A root folder contains every file, so it does not count.
    """
    named = [os.path.abspath(folder) for folder in folders if folder.parent != folder]  # noqa: PTH100 - keep links
    return any(Path(path).is_relative_to(folder) for path in plan.data for folder in named)
