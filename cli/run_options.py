"""Choose the import options of each run, and remember those that a user named.

fcreview saves them in the workspace, so that they are not lost when the store is rebuilt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from fcreview.cli.options import DEFAULT_OPTION_VALUES, WorkspaceOptions
from fcreview.cli.workspace import set_and_save_errata

if TYPE_CHECKING:
    from fcreview.cli.config import Config
    from fcreview.run_plan import ImportOption, RunPlan
    from fcreview.store.workspace import Workspace


def set_options_and_errata(
    plans: Sequence[RunPlan], options: WorkspaceOptions, config: Config, workspace: Workspace
) -> None:
    """Set the import options and the errata of each run, and save the values of this command for later commands."""
    saved = SavedRunOptions(workspace)
    for plan in plans:
        saved.update_run(plan, options.import_options)
        plan.options = _list_configured_options(plan, config) | saved.get_options(plan)
        for name, default in DEFAULT_OPTION_VALUES.items():
            if plan.options.get(name) == default:
                del plan.options[name]
    saved.save()
    set_and_save_errata(plans, options.errata, workspace)


def _list_configured_options(plan: RunPlan, config: Config) -> dict[ImportOption, str]:
    if "decoder" not in _get_importer_options(plan):
        return {}
    for model, decoder in config.decoders.items():
        if fnmatchcase(plan.run.model, model):
            return {"decoder": decoder}
    return {}


def _get_importer_options(plan: RunPlan) -> tuple[ImportOption, ...]:
    from fcreview.importers.registry import IMPORTERS

    return IMPORTERS[plan.importer].options


class SavedRunOptions:
    """The import options of each run that a user named, in `.fcreview/run_options.json`.

    The file has the form `{run key: {"decoder": "HERMES"}}`. Earlier versions wrote `decoders.json`, in the form
    `{run key: "HERMES"}`, which is read as well.
    """

    def __init__(self, workspace: Workspace) -> None:
        from fcreview.store.importing.source_files import build_run_key

        self._build_run_key = partial(build_run_key, workspace)
        self._workspace = workspace
        self._file = workspace.root / "run_options.json"
        self._options: dict[str, dict[str, Any]] = {}
        decoders = workspace.files.read_json_object(workspace.root / "decoders.json")
        for key, decoder in decoders.items():
            self._options[key] = {"decoder": decoder}
        for key, values in workspace.files.read_json_object(self._file).items():
            if isinstance(values, dict):
                self._options[key] = values
        self._before = deepcopy(self._options)

    def update_run(self, plan: RunPlan, options: Mapping[str, str]) -> None:
        """Remember the options that the run's importer reads. The default value of an option is remembered as well,
        because it takes precedence over the configuration."""
        key = self._build_run_key(plan.run)
        for name in _get_importer_options(plan):
            if name in options:
                self._options.setdefault(key, {})[name] = options[name]

    def get_options(self, plan: RunPlan) -> dict[ImportOption, str]:
        """Return the remembered options that the run's importer reads."""
        values = self._options.get(self._build_run_key(plan.run), {})
        return {name: str(values[name]) for name in _get_importer_options(plan) if values.get(name)}

    def save(self) -> None:
        """Write the file if an option changed. A place that cannot be written is ignored."""
        if self._options == self._before:
            return
        with suppress(OSError):
            self._workspace.files.write_json(self._file, self._options)
