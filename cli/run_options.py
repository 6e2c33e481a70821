"""Choose the import options and the name of each run, and remember those that a user gave.

fcreview saves them in the workspace, so that they are not lost when the store is rebuilt.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.options import DEFAULT_OPTION_VALUES, NO_MAPPING, WorkspaceOptions
from fcreview.cli.output import print_warning
from fcreview.cli.workspace import set_and_save_errata
from fcreview.errors import UsageError
from fcreview.model.sanitize import sanitize
from fcreview.run_plan import AUTOMATIC_LANGUAGE

if TYPE_CHECKING:
    from fcreview.cli.config import Config
    from fcreview.model.item import Run
    from fcreview.run_plan import ImportOption, RunPlan
    from fcreview.store.workspace import Workspace

MAX_LISTED_CHOICES = 30


def set_options_and_errata(
    plans: Sequence[RunPlan], options: WorkspaceOptions, config: Config, workspace: Workspace
) -> None:
    """Set the import options, the name and the errata of each run.

    The values of this command are saved, so that later commands need not repeat them.
    """
    saved = SavedRunOptions(workspace)
    runs_without_score = find_runs_without_score(plans, options.verdict_from)
    for plan in plans:
        given_options = dict(options.import_options)
        if plan.run.path in runs_without_score:
            del given_options["verdict_from"]
        saved.update_run(plan, given_options)
        if options.name is not None:
            saved.set_name(plan, options.name)

        # Saved names and options come before those of the configuration.
        plan.run.name = saved.get_name(plan) or find_configured_name(plan.run, config)
        options_of_plan = _list_configured_options(plan, config) | saved.get_options(plan)
        plan.options = _omit_defaults(options_of_plan)
        # The permission is never saved, because a workspace can come from somebody else.
        plan.executes = options.execute and _can_execute(plan)
    saved.save()
    set_and_save_errata(plans, options.errata, workspace)


def _omit_defaults(options: Mapping[ImportOption, str]) -> dict[ImportOption, str]:
    """Return the options without those that have their default value, which are no choice of the
    user.
    """
    chosen = {}
    for name, value in options.items():
        is_default = name in DEFAULT_OPTION_VALUES and value == DEFAULT_OPTION_VALUES[name]
        if not is_default:
            chosen[name] = value
    return chosen


def find_configured_name(run: Run, config: Config) -> str:
    """Return the name of the first line of `[run_names]` whose pattern matches the model or the
    path of the run. A pattern of a path may omit the folders at its start. Return an empty text if
    no pattern matches.
    """
    for pattern, name in config.run_names.items():
        path_pattern = os.path.expanduser(pattern)  # noqa: PTH111 - accepts `~x` without a user x
        if fnmatchcase(run.model, pattern) or fnmatchcase(run.path, path_pattern):
            return name
        if fnmatchcase(run.path, f"*/{path_pattern}"):
            return name
    return ""


def find_runs_without_score(plans: Sequence[RunPlan], verdict_from: str | None) -> set[str]:
    """Return the paths of the runs that lack the score that --verdict-from names. They keep their
    verdicts.

    Raises UsageError if no run has the score.
    """
    if verdict_from is None or verdict_from == DEFAULT_OPTION_VALUES["verdict_from"]:
        return set()

    choices_by_path = _list_choices_by_path(plans)
    runs_without_score = {
        path for path, choices in choices_by_path.items() if verdict_from not in choices
    }
    has_any_run_the_score = len(runs_without_score) < len(choices_by_path)
    if not has_any_run_the_score:
        raise UsageError(_explain_unknown_score(verdict_from, choices_by_path.values()))
    return runs_without_score


def _list_choices_by_path(plans: Sequence[RunPlan]) -> dict[str, list[str]]:
    """Return the scores of each run from which its verdicts can be taken, by the run's path."""
    from fcreview.importers.registry import list_verdict_choices

    choices_by_path = {}
    for plan in plans:
        if "verdict_from" in _get_importer_options(plan):
            choices_by_path[plan.run.path] = list_verdict_choices(plan)
    return choices_by_path


def _explain_unknown_score(verdict_from: str, choices_of_runs: Iterable[Sequence[str]]) -> str:
    """Return a message that lists the scores that exist."""
    all_choices = list(dict.fromkeys(chain.from_iterable(choices_of_runs)))
    if not all_choices:
        return "--verdict-from needs an Inspect log with scores"
    listed = ", ".join(sanitize(choice) for choice in all_choices[:MAX_LISTED_CHOICES])
    return f"no log has the score {sanitize(verdict_from)!r}. Choose one of {listed}"


def _list_configured_options(plan: RunPlan, config: Config) -> dict[ImportOption, str]:
    """Return the options that the configuration sets and the importer of a run reads."""
    names = _get_importer_options(plan)
    options: dict[ImportOption, str] = {}
    if "scorers" in names and config.scorers:
        options["scorers"] = json.dumps(config.scorers, sort_keys=True)
    if "decoder" in names:
        for model, decoder in config.decoders.items():
            if fnmatchcase(plan.run.model, model):
                options["decoder"] = decoder
                break
    return options


def warn_of_execution() -> None:
    """Say what is executed and how it is isolated. Raises ExecutionError without bfcl-eval."""
    from fcreview.importers.bfcl.execution.executor import Executor

    with Executor() as executor:
        print_warning(
            f"--execute: {executor.package} executes the calls of models, if they are calls of its"
            " API classes with literal arguments, in a process without files, with limits on time"
            f" and memory, and without network ({executor.network})"
        )


def _can_execute(plan: RunPlan) -> bool:
    from fcreview.importers.registry import get_importer

    return get_importer(plan.importer).executes_calls


def _get_importer_options(plan: RunPlan) -> tuple[ImportOption, ...]:
    from fcreview.importers.registry import get_importer

    return get_importer(plan.importer).options


class SavedRunOptions:
    """The import options and names of runs that a user gave, in `.fcreview/run_options.json`.

    The file has the form `{run key: {"decoder": "HERMES", "name": "baseline"}}`. Earlier versions
    wrote `decoders.json`, in the form `{run key: "HERMES"}`, which is read as well.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Read the saved options, also from the file of older versions, `decoders.json`."""
        from fcreview.store.importing.source_files import build_run_key

        self._build_run_key = partial(build_run_key, workspace)
        self._workspace = workspace
        self._file = workspace.root / "run_options.json"
        self._options: dict[str, dict[str, Any]] = {}
        decoders = workspace.files.read_json_object(workspace.root / "decoders.json")
        for key, decoder in decoders.items():
            self._options[key] = {"decoder": decoder}
        for key, values in workspace.files.read_json_object(self._file).items():
            # A damaged entry is ignored: the options of the run are then chosen anew.
            if isinstance(values, dict):
                self._options[key] = values
        self._saved_options = deepcopy(self._options)

    def update_run(self, plan: RunPlan, options: Mapping[str, str]) -> None:
        """Remember the options that the run's importer reads. The default value of an option is
        remembered as well, because it takes precedence over the configuration.
        """
        key = self._build_run_key(plan.run)
        for name in _get_importer_options(plan):
            if name in options:
                self._options.setdefault(key, {})[name] = options[name]

    def get_options(self, plan: RunPlan) -> dict[ImportOption, str]:
        """Return the remembered options that the run's importer reads."""
        values = self._options.get(self._build_run_key(plan.run), {})
        return {name: str(values[name]) for name in _get_importer_options(plan) if values.get(name)}

    def set_name(self, plan: RunPlan, name: str) -> None:
        """Remember the name of a run. An empty name is forgotten."""
        values = self._options.setdefault(self._build_run_key(plan.run), {})
        values.pop("name", None)
        if name.strip():
            values["name"] = name

    def get_name(self, plan: RunPlan) -> str:
        """Return the remembered name of a run, or an empty text."""
        name = self._options.get(self._build_run_key(plan.run), {}).get("name")
        return name if isinstance(name, str) else ""

    def save(self) -> None:
        """Write the file if an option changed. A place that cannot be written is ignored."""
        if self._options == self._saved_options:
            return
        with suppress(OSError):
            self._workspace.files.write_json(self._file, self._options)


def remember_languages(
    plans: Sequence[RunPlan], options: WorkspaceOptions, workspace: Workspace
) -> None:
    """Remember the language of --language for each run whose folder names tell no language."""
    languages = SavedLanguages(workspace)
    for plan in plans:
        if options.language and plan.takes_named_language:
            languages.set_language(Path(plan.run.path), options.language)
    languages.save()


class SavedLanguages:
    """The languages of --language, in `.fcreview/languages.json`, in the form `{folder of results:
    "zh"}`.

    The language is a part of the key of a run, so that `run_options.json` cannot contain it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file = workspace.root / "languages.json"
        saved = workspace.files.read_json_object(self._file)
        self._languages = {
            path: language for path, language in saved.items() if isinstance(language, str)
        }
        self._before = dict(self._languages)

    def get_languages(self) -> dict[Path, str]:
        """Return the language of each folder of results."""
        return {
            self._workspace.to_absolute_path(path): language
            for path, language in self._languages.items()
        }

    def set_language(self, folder: Path, language: str) -> None:
        """Remember the language of the results in a folder. `auto` forgets it."""
        stored_path = self._workspace.to_stored_path(folder)
        if language == AUTOMATIC_LANGUAGE:
            self._languages.pop(stored_path, None)
        else:
            self._languages[stored_path] = language

    def save(self) -> None:
        """Write the file if a language changed. A place that cannot be written is ignored."""
        if self._languages == self._before:
            return
        with suppress(OSError):
            self._workspace.files.write_json(self._file, self._languages)


def remember_mapping(
    options: WorkspaceOptions, mapping_file: Path | None, workspace: Workspace
) -> None:
    """Remember the mapping file of --map. `--map none` forgets all of them."""
    if options.mapping is None:
        return
    mappings = SavedMappings(workspace)
    if mapping_file is not None:
        mappings.add_file(mapping_file)
    elif options.mapping == NO_MAPPING:
        mappings.forget_files()
    mappings.save()


class SavedMappings:
    """The mapping files of --map, in `.fcreview/mappings.json`, in the form `{path: true}`.

    Later commands need them to find the runs again.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file = workspace.root / "mappings.json"
        self._paths = list(workspace.files.read_json_object(self._file))
        self._before = list(self._paths)

    def get_files(self) -> tuple[Path, ...]:
        return tuple(self._workspace.to_absolute_path(path) for path in self._paths)

    def add_file(self, path: Path) -> None:
        stored_path = self._workspace.to_stored_path(path)
        if stored_path not in self._paths:
            self._paths.append(stored_path)

    def forget_files(self) -> None:
        self._paths.clear()

    def save(self) -> None:
        """Write the file if a path changed. A place that cannot be written is ignored."""
        if self._paths == self._before:
            return
        with suppress(OSError):
            self._workspace.files.write_json(self._file, dict.fromkeys(self._paths, True))
