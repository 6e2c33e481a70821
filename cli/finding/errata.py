"""Which errata runs are read with: named once with `--errata`, kept as a copy in the workspace.

The copy is what holds: the file may be moved or lost afterwards, and what it says cannot change unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.cli.errors import CommandError
from fcreview.cli.output import note

if TYPE_CHECKING:
    from fcreview.errata.file import Errata
    from fcreview.plan import RunPlan
    from fcreview.store.workspace import Workspace

NONE = "none"
"""What forgets the errata that were named before."""


def read_with(plans: Iterable[RunPlan], named: str | None, workspace: Workspace) -> None:
    """Sets `errata` of the plans. `named` is that of --errata. CommandError for a file that is not there, or of which
    nothing can be applied; ErrataError for one that is no errata or was changed."""
    from fcreview.store.kept import write_whole

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
    from fcreview.errata.file import read_errata

    return read_errata(content(path), str(path))


def content(path: Path) -> bytes:
    """CommandError, which names it, for what cannot be read: of two files the other may still be."""
    from fcreview.store.kept import read_small

    try:
        return read_small(path)
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

    return importer in IMPORTERS and IMPORTERS[importer].mends


def equates(importer: str) -> bool:
    """Whether they can be read with equivalence rules."""
    from fcreview.importers.registry import IMPORTERS

    return importer in IMPORTERS and IMPORTERS[importer].equates
