"""Which decoder is to read the replies of a BFCL run, where a person said so: with `--decoder`, now or before, or in
the configuration.

`.fcreview/decoders.json` holds what was named with --decoder, by `run_key`: `{key: "HERMES"}`. It is no part of the
store, so that a store which is built anew still finds it.

Which errata runs are read with: named once with `--errata`, kept as a copy in the workspace.

The copy is what holds: the file may be moved or lost afterwards, and what it says cannot change unnoticed.
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


MODELS = "model"
"""What forgets a decoder that was named before: the model's own reads again."""


def checked(name: str | None) -> str | None:
    """The name as the importer spells it. UsageError if there is no such decoder."""
    if name is None or name == MODELS:
        return name
    from fcreview.importers.bfcl.decoders.registry import BY_NAME

    if name.upper() not in BY_NAME:
        raise UsageError(f"no decoder {name!r}: there are {MODELS} and {', '.join(sorted(BY_NAME))}")
    return name.upper()


def ask_for(plans: Iterable[RunPlan], named: str | None, standing: Mapping[str, str], workspace: Workspace) -> None:
    """Sets `decoder` of BFCL's plans. `named` is that of --decoder, `standing` the configuration's, by folder names of
    models in which `*` stands for any text."""
    from fcreview.safe_files import read_object, write_object
    from fcreview.store.importing.builder import run_key

    file = workspace.root / "decoders.json"
    before = read_object(file)
    kept = dict(before)
    for plan in plans:
        if plan.run.benchmark != "bfcl":
            continue
        key = run_key(workspace, plan.run)
        if named == MODELS:
            kept.pop(key, None)
        elif named:
            kept[key] = named
        usual = next((name for model, name in standing.items() if fnmatchcase(plan.run.model, model)), "")
        named_once = str(kept.get(key) or usual)
        plan.decoder = "" if named_once == MODELS else named_once
    if kept != before:
        with contextlib.suppress(OSError):
            write_object(file, kept)


NONE = "none"
"""What forgets the errata that were named before."""


def read_with(plans: Iterable[RunPlan], named: str | None, workspace: Workspace) -> None:
    """Sets `errata` of the plans. `named` is that of --errata. CommandError for a file that is not there, or of which
    nothing can be applied; ErrataError for one that is no errata or was changed."""
    from fcreview.safe_files import write_whole

    if named == NONE:
        workspace.errata.unlink(missing_ok=True)
    elif named is not None:
        path = Path(named)
        if not path.is_file():
            raise CommandError(f"no such file: --errata {named}")
        _check_use(read_file(path), named)
        write_whole(workspace.errata, content(path))
    errata = applied(workspace)
    for plan in plans:
        plan.errata = of_importer(errata, plan.importer)


def of_importer(errata: Errata | None, importer: str) -> Errata | None:
    """What of the errata its runs are read with."""
    return errata.of(importer, rules=equates(importer)) if errata and mends(importer) else None


def applied(workspace: Workspace) -> Errata | None:
    """The errata that runs of the workspace are read with."""
    return read_file(workspace.errata) if workspace.errata.exists() else None


def read_file(path: Path) -> Errata:
    from fcreview.corrections.errata_file import read_errata

    return read_errata(content(path), str(path))


def content(path: Path) -> bytes:
    """CommandError, which names it, for what cannot be read: of two files the other may still be."""
    from fcreview import safe_files

    try:
        return safe_files.read_file(path, safe_files.LARGEST)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error


def _check_use(errata: Errata, named: str) -> None:
    from fcreview.importers.registry import IMPORTERS

    titles = {name: one.title for name, one in IMPORTERS.items()}
    other = sorted({titles.get(e.benchmark, e.benchmark) for e in errata.entries.values() if not mends(e.benchmark)})
    if other:
        what = (
            f"errata of {', '.join(other)} cannot be applied: only golden answers of {_able(titles)} can be exchanged"
        )
        if all(not mends(entry.benchmark) for entry in errata.entries.values()) and not errata.rules:
            raise CommandError(f"{named}: {what}")
        note(f"fcreview: {named}: {what}")


def _able(titles: dict[str, str]) -> str:
    return ", ".join(title for name, title in titles.items() if mends(name))


def mends(importer: str) -> bool:
    """Whether runs of this importer can be read with corrected golden answers."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_errata


def equates(importer: str) -> bool:
    """Whether they can be read with equivalence rules."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].applies_equivalences
