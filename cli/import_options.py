"""Choose the dataset, the decoder and the errata with which fcreview imports each run.

fcreview saves the value of `--decoder` in `.fcreview/decoders.json` as `{run key: "HERMES"}`. This file is separate
from the store, so that the value is not lost when fcreview rebuilds the store. fcreview copies the file of `--errata`
to `.fcreview/errata.jsonl`, so that the workspace does not depend on the original.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.cli.output import print_message
from fcreview.errors import CommandError, UsageError
from fcreview.model.item import ImportIssue

if TYPE_CHECKING:
    from fcreview.errata import Errata
    from fcreview.run_plan import DiscoveredRuns, RunPlan
    from fcreview.store.importing.source_files import DatasetFolders
    from fcreview.store.workspace import Workspace

Folders = tuple[Path, ...]
RunSearch = Callable[[Folders], "DiscoveredRuns"]  # function that finds runs, and their datasets in these folders first
RunId = tuple[str, str, str, str, str]  # benchmark, version, language, model and path of a run


def assign_datasets(search_runs: RunSearch, named_folders: Folders, remembered: DatasetFolders) -> DiscoveredRuns:
    """Find the runs, and choose the matching dataset for each run.

    `named_folders` are the folders of --data. `remembered` are the dataset folders of earlier commands.
    """
    from fcreview.store.importing.source_files import select_folders_with_dataset

    search_once, usual_folders = cache(search_runs), _existing_folders(remembered.most_common_folders)

    @cache
    def search_plans(folders: Folders) -> dict[RunId, RunPlan]:
        plans: dict[RunId, RunPlan] = {}
        for plan in search_once(folders).plans:
            plans.setdefault(_make_run_id(plan), plan)
        return plans

    def assign_dataset(plan: RunPlan) -> RunPlan:
        if select_folders_with_dataset(named_folders, plan):
            return plan
        before = remembered.get_dataset_folders(plan.run)
        assigned = search_plans(_existing_folders(before) or named_folders).get(_make_run_id(plan), plan)
        if named_folders and before:
            problem = f"--data has no dataset for this run, so fcreview uses {before[0]} from an earlier command"
            assigned.issues.append(ImportIssue(plan.run.path, None, problem, severity="notice"))
        if assigned.data or before or not assigned.run.needs_dataset:
            return assigned
        usual = search_plans(usual_folders).get(_make_run_id(plan), plan)
        return usual if usual.data else assigned  # a new run gets the dataset of most other runs

    found = search_once(named_folders or usual_folders)
    return replace(found, plans=[assign_dataset(plan) for plan in found.plans])


def _make_run_id(plan: RunPlan) -> RunId:
    run = plan.run
    return run.benchmark, run.generation, run.language, run.model, run.path


def _existing_folders(folders: Iterable[Path]) -> Folders:
    return tuple(folder for folder in folders if folder.is_dir())


DEFAULT_DECODER = "model"


def check_decoder(name: str | None) -> str | None:
    """Return the decoder's name in the importer's spelling. Raises UsageError for an unknown decoder."""
    if name is None or name == DEFAULT_DECODER:
        return name
    from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME

    if name.upper() not in DECODERS_BY_NAME:
        names = ", ".join(sorted(DECODERS_BY_NAME))
        raise UsageError(f"there is no decoder {name!r}. Choose {DEFAULT_DECODER}, {names}")
    return name.upper()


def set_decoders(
    plans: Iterable[RunPlan], decoder_option: str | None, decoders_by_model: Mapping[str, str], workspace: Workspace
) -> None:
    """Set the decoder of each BFCL run, and save the value of --decoder.

    `decoders_by_model` are the configured decoders by name of the model folder, in which `*` matches any text.
    """
    from fcreview.store.importing.source_files import build_run_key

    file = workspace.root / "decoders.json"
    before = workspace.files.read_json_object(file)
    kept = dict(before)
    for plan in plans:
        if plan.run.benchmark != "bfcl":
            continue
        key = build_run_key(workspace, plan.run)
        if decoder_option == DEFAULT_DECODER:
            kept.pop(key, None)
        elif decoder_option:
            kept[key] = decoder_option
        usual = next((name for model, name in decoders_by_model.items() if fnmatchcase(plan.run.model, model)), "")
        chosen = str(kept.get(key) or usual)
        plan.decoder = "" if chosen == DEFAULT_DECODER else chosen
    if kept != before:
        with contextlib.suppress(OSError):
            workspace.files.write_json(file, kept)


NO_ERRATA = "none"  # value of --errata that removes the errata from the workspace


def set_errata(plans: Iterable[RunPlan], errata_option: str | None, workspace: Workspace) -> None:
    """Set the errata of each run. Copy a valid file of --errata to the workspace."""
    if errata_option == NO_ERRATA:
        workspace.errata.unlink(missing_ok=True)
    elif errata_option is not None:
        path = Path(errata_option)
        if not path.is_file():
            raise CommandError(f"the file of --errata {errata_option} does not exist. Pass an errata file")
        _check_errata_support(load_errata(path), errata_option)
        workspace.files.write(workspace.errata, read_small_file(path))
    errata = load_workspace_errata(workspace)
    for plan in plans:
        plan.errata = select_errata(errata, plan.importer)


def select_errata(errata: Errata | None, importer: str) -> Errata | None:
    """Select the errata that apply to the runs of an importer. Return None if the importer supports no errata."""
    if errata is None or not supports_errata(importer):
        return None
    return errata.select_for_benchmark(importer, include_rules=supports_equivalences(importer))


def load_workspace_errata(workspace: Workspace) -> Errata | None:
    """Load the errata of the workspace. Return None if it has no errata file."""
    from fcreview.errata import parse_errata

    content = read_workspace_file(workspace, workspace.errata)
    return None if content is None else parse_errata(content, str(workspace.errata))


def load_errata(path: Path) -> Errata:
    """Load an errata file. Raises ErrataError if it is invalid, CommandError if it cannot be read."""
    from fcreview.errata import parse_errata

    return parse_errata(read_small_file(path), str(path))


def read_small_file(path: Path) -> bytes:
    """Read a small file. Raises CommandError with the path on failure."""
    from fcreview import safe_files

    try:
        return safe_files.read_file(path, safe_files.MAX_FILE_BYTES)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def read_workspace_file(workspace: Workspace, path: Path) -> bytes | None:
    """Read a file of the workspace. Return None if it does not exist. Raises CommandError with the path on failure."""
    try:
        return workspace.files.read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def _check_errata_support(errata: Errata, file_name: str) -> None:
    from fcreview.importers.registry import IMPORTERS

    titles = {name: one.title for name, one in IMPORTERS.items()}
    benchmarks = {entry.benchmark for entry in errata.entries.values()}
    other = [name for name in benchmarks if not supports_errata(name)]
    if other:
        supported = ", ".join(title for name, title in titles.items() if supports_errata(name))
        names = ", ".join(sorted({titles.get(name, name) for name in other}))
        problem = f"fcreview cannot apply errata of {names}, only errata of {supported}"
        if len(other) == len(benchmarks) and not errata.rules:
            raise CommandError(f"{file_name}: {problem}")
        print_message(f"fcreview: {file_name}: {problem}")


def supports_errata(importer: str) -> bool:
    """Whether the importer with this name can apply corrected golden answers."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_errata


def supports_equivalences(importer: str) -> bool:
    """Whether the importer with this name can apply equivalence rules."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_equivalences
