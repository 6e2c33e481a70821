"""Set the decoder and the errata that runs are imported with.

`--decoder` is remembered in `.fcreview/decoders.json`, by run key: `{key: "HERMES"}`. The file is separate from the
store, so it survives when the store is rebuilt. `--errata` is copied to `.fcreview/errata.jsonl`, so that the workspace
no longer depends on the original file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.output import note

if TYPE_CHECKING:
    from fcreview.corrections.errata_file import Errata
    from fcreview.run_plan import RunPlan
    from fcreview.store.workspace import Workspace


DEFAULT_DECODER = "model"
"""Value of --decoder that restores the default decoder of the model."""


def check_decoder(name: str | None) -> str | None:
    """Return the decoder's name as the importer spells it. UsageError if there is no such decoder."""
    if name is None or name == DEFAULT_DECODER:
        return name
    from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME

    if name.upper() not in DECODERS_BY_NAME:
        raise UsageError(f"no decoder {name!r}: choose {DEFAULT_DECODER}, {', '.join(sorted(DECODERS_BY_NAME))}")
    return name.upper()


def set_decoders(
    plans: Iterable[RunPlan], named: str | None, configured: Mapping[str, str], workspace: Workspace
) -> None:
    """Set `decoder` in the plans of BFCL runs.

    Args:
        named: value of --decoder.
        configured: decoders in the configuration by model folder name; `*` matches any text.
    """
    from fcreview.safe_files import read_json_object, write_json
    from fcreview.store.importing.builder import build_run_key

    file = workspace.root / "decoders.json"
    before = read_json_object(file)
    kept = dict(before)
    for plan in plans:
        if plan.run.benchmark != "bfcl":
            continue
        key = build_run_key(workspace, plan.run)
        if named == DEFAULT_DECODER:
            kept.pop(key, None)
        elif named:
            kept[key] = named
        usual = next((name for model, name in configured.items() if fnmatchcase(plan.run.model, model)), "")
        chosen = str(kept.get(key) or usual)
        plan.decoder = "" if chosen == DEFAULT_DECODER else chosen
    if kept != before:
        with contextlib.suppress(OSError):
            write_json(file, kept)


NO_ERRATA = "none"
"""Value of --errata that removes the errata."""


def set_errata(plans: Iterable[RunPlan], named: str | None, workspace: Workspace) -> None:
    """Set `errata` in the plans.

    Args:
        named: value of --errata.

    Raises: CommandError if the file does not exist or nothing in it applies; ErrataError if it is invalid.
    """
    from fcreview.safe_files import write_atomically

    if named == NO_ERRATA:
        workspace.errata.unlink(missing_ok=True)
    elif named is not None:
        path = Path(named)
        if not path.is_file():
            raise CommandError(f"no such file: --errata {named}")
        _check_applicable(load_errata(path), named)
        write_atomically(workspace.errata, read_bytes(path))
    errata = workspace_errata(workspace)
    for plan in plans:
        plan.errata = errata_for(errata, plan.importer)


def errata_for(errata: Errata | None, importer: str) -> Errata | None:
    """The part of the errata that applies to runs of this importer."""
    return errata.for_benchmark(importer, rules=applies_equivalences(importer)) if errata and applies_errata(importer) else None


def workspace_errata(workspace: Workspace) -> Errata | None:
    """The errata of the workspace, or None."""
    return load_errata(workspace.errata) if workspace.errata.exists() else None


def load_errata(path: Path) -> Errata:
    from fcreview.corrections.errata_file import parse_errata

    return parse_errata(read_bytes(path), str(path))


def read_bytes(path: Path) -> bytes:
    """Content of a small file. The CommandError for an unreadable file names it."""
    from fcreview import safe_files

    try:
        return safe_files.read_file(path, safe_files.MAX_FILE_BYTES)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def _check_applicable(errata: Errata, named: str) -> None:
    from fcreview.importers.registry import IMPORTERS

    titles = {name: one.title for name, one in IMPORTERS.items()}
    other = sorted(
        {titles.get(e.benchmark, e.benchmark) for e in errata.entries.values() if not applies_errata(e.benchmark)}
    )
    if other:
        what = f"cannot apply errata of {', '.join(other)}: only {_supported(titles)} golden answers can be corrected"
        if all(not applies_errata(entry.benchmark) for entry in errata.entries.values()) and not errata.rules:
            raise CommandError(f"{named}: {what}")
        note(f"fcreview: {named}: {what}")


def _supported(titles: dict[str, str]) -> str:
    return ", ".join(title for name, title in titles.items() if applies_errata(name))


def applies_errata(importer: str) -> bool:
    """Whether this importer supports corrected golden answers."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_errata


def applies_equivalences(importer: str) -> bool:
    """Whether this importer supports equivalence rules."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_equivalences
