"""Command-line options that several commands share, declared once.

`@workspace_command` gives a command the arguments and options that select a workspace, so that its function lists only
its own:

    @workspace_command("annotator", "policy")
    def items(options: WorkspaceOptions, where: WhereOption = "", as_json: AsJson = False) -> None:
        with open_workspace(options) as session: ...
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from fcreview.cli.import_options import check_decoder
from fcreview.cli.workspace import WorkspaceOptions
from fcreview.model.verdict import POLICIES, UNANIMOUS

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON Lines to standard output.")]
WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="EXPR",
        help="Select items: 'official:fail -reviewed error:value_error', or @NAME for a saved filter.",
    ),
]
RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="Select one run by number or model (see `runs`).", show_default=False),
]
_QUEUE = typer.Option(
    "--queue",
    metavar="NAME",
    help="Order items by failures, dataset, disagreement, unreviewed, random or stratified; select judged, uncertain or"
    " suspects; or name a queue file.",
)
Queue = Annotated[str, _QUEUE]
OptionalQueue = Annotated[str | None, _QUEUE]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Random seed for the random and stratified order.")]
Blind = Annotated[bool, typer.Option("--blind", help="Hide the other verdicts on an item until you submit yours.")]
ItemArgument = Annotated[str, typer.Argument(metavar="ITEM", help="Item id, as `items` lists it.", show_default=False)]
Annotator = Annotated[
    str | None, typer.Option("--annotator", metavar="NAME", help="Annotator name.", show_default=False)
]

Shared = tuple[Any, Any]
"""Annotated type of a parameter, and its default."""


def _path(kind: Any, help_: str) -> Shared:
    return Annotated[kind, typer.Argument(metavar="PATH", help=help_, show_default=False)], Parameter.empty


def _option(kind: Any, name: str, metavar: str, help_: str, default: Any = None) -> Shared:
    return Annotated[kind, typer.Option(name, metavar=metavar, help=help_, show_default=default is not None)], default


PATH = _path(Path, "A run, a folder of runs, or a folder with a workspace.")
PATHS = _path(list[Path], "Runs, folders of runs, or a folder with a workspace.")
POLICY_HELP = f"Verdict that counts if annotators disagree: {', '.join(POLICIES)}."
ERRATA_HELP = "Apply these errata (docs/errata.md), remembered for the workspace; `none` clears them."
DECODER_HELP = "Decoder for BFCL responses (docs/bfcl.md), remembered for the run; `model` restores the default."
SHARED = {
    "annotator": (Annotator, None),
    "policy": _option(str, "--policy", "NAME", POLICY_HELP, UNANIMOUS),
    "data": _option(list[Path] | None, "--data", "DIR", "Dataset folder, remembered for the run; repeatable."),
    "errata": _option(str | None, "--errata", "FILE", ERRATA_HELP),
    "workspace": _option(Path | None, "--workspace", "DIR", "Store .fcreview/ in DIR instead of next to the run."),
    "format": _option(str | None, "--format", "NAME", "Read the files as this benchmark, e.g. bfcl."),
    "decoder": _option(str | None, "--decoder", "NAME", DECODER_HELP),
}
"""Options by field of `WorkspaceOptions`, in the order of help."""
COMMON = ("data", "errata", "workspace")


def workspace_command(
    *more: str, common: tuple[str, ...] = COMMON, path: Shared = PATH
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's first parameter, its `WorkspaceOptions`, by PATH and the options that fill it.

    Args:
        more: options of `SHARED` that the command takes besides the `common` ones.
        path: the argument: `PATH`, `PATHS` or the command's own.
    """
    names = [name for name in SHARED if name in {*more, *common}]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        first, *own = signature(command).parameters.values()
        types = {"path": path[0]} | {each.name: hints[each.name] for each in own if each.name != "as_json"}
        types |= {name: SHARED[name][0] for name in names}
        if "as_json" in hints:
            types["as_json"] = hints["as_json"]
        defaults = {"path": path[1]} | {each.name: each.default for each in own}
        defaults |= {name: SHARED[name][1] for name in names}

        @wraps(command)
        def run(**given: Any) -> None:
            paths, shared = given.pop("path"), {name: given.pop(name) for name in names}
            if "decoder" in shared:
                shared["decoder"] = check_decoder(shared["decoder"])
            given[first.name] = WorkspaceOptions([paths] if isinstance(paths, Path) else paths, **shared)
            command(**given)

        keyword = Parameter.KEYWORD_ONLY
        parameters = [Parameter(name, keyword, default=defaults[name], annotation=of) for name, of in types.items()]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = types
        return run

    return decorate


def split_names(text: str) -> list[str]:
    """Names of an option that takes several, separated by commas."""
    return [each.strip() for each in text.split(",") if each.strip()]
