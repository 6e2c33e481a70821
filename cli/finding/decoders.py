"""Which decoder is to read the replies of a BFCL run, where a person said so: with `--decoder`, now or before, or in
the configuration.

`.fcreview/decoders.json` holds what was named with --decoder, by `run_key`: `{key: "HERMES"}`. It is no part of the
store, so that a store which is built anew still finds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from fcreview.cli.errors import UsageError

if TYPE_CHECKING:
    from fcreview.plan import RunPlan
    from fcreview.store.workspace import Workspace

MODELS = "model"
"""What forgets a decoder that was named before: the model's own reads again."""


def checked(name: str | None) -> str | None:
    """The name as the importer spells it. UsageError if there is no such decoder."""
    if name is None or name == MODELS:
        return name
    from fcreview.importers.bfcl.decode.decoders import BY_NAME

    if name.upper() not in BY_NAME:
        raise UsageError(f"no decoder {name!r}: there are {MODELS} and {', '.join(sorted(BY_NAME))}")
    return name.upper()


def ask_for(plans: Iterable[RunPlan], named: str | None, standing: Mapping[str, str], workspace: Workspace) -> None:
    """Sets `decoder` of BFCL's plans. `named` is that of --decoder, `standing` the configuration's, by folder names of
    models in which `*` stands for any text."""
    from fcreview.store.importing.index import run_key
    from fcreview.store.kept import read_object, write_object

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
