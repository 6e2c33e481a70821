"""Define the arguments and options that several commands share.

`@workspace_command` adds the arguments and options that select a workspace, so that a command declares only its own:

    @workspace_command("annotator", "policy")
    def items(options: WorkspaceOptions, where: WhereOption = "", as_json: JsonOption = False) -> None:
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

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of text.")]
WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="EXPR",
        help="Filter items, e.g. 'official:fail -reviewed error:value_error', or @NAME for a saved filter.",
    ),
]
RunOption = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Select one run by number or model, as `fcreview runs` lists it.",
        show_default=False,
    ),
]
_QUEUE = typer.Option(
    "--queue",
    metavar="NAME",
    help="Order of items (failures, dataset, disagreement, unreviewed, random or stratified), a selection (judged,"
    " uncertain or suspects), or a queue from `fcreview queue create`.",
)
QueueOption = Annotated[str, _QUEUE]
QueueOrDefaultOption = Annotated[str | None, _QUEUE]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Random seed for `--queue random` and `stratified`.")
]
BlindOption = Annotated[
    bool, typer.Option("--blind", help="Hide the other verdicts on an item until you submit your own.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the output file if it exists.")]
ItemArgument = Annotated[
    str, typer.Argument(metavar="ITEM", help="Item id, as `fcreview items` lists it.", show_default=False)
]
AnnotatorOption = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="NAME",
        help="Annotator name. Default: FCREVIEW_ANNOTATOR, the configuration, git or login name.",
        show_default=False,
    ),
]

ParameterSpec = tuple[Any, Any]
"""Annotated type and default value of a parameter."""


def _path_argument(type_: Any, help_: str) -> ParameterSpec:
    return Annotated[type_, typer.Argument(metavar="PATH", help=help_, show_default=False)], Parameter.empty


def _option(type_: Any, name: str, metavar: str, help_: str, default: Any = None) -> ParameterSpec:
    return Annotated[type_, typer.Option(name, metavar=metavar, help=help_, show_default=default is not None)], default


PATH_ARGUMENT = _path_argument(Path, "A run, a folder of runs, or a folder with a workspace.")
PATHS_ARGUMENT = _path_argument(list[Path], "Runs, folders of runs, or a folder with a workspace.")
OPTIONAL_PATHS_ARGUMENT: ParameterSpec = (PATHS_ARGUMENT[0], None)
POLICY_HELP = f"How to decide items on which annotators disagree: {', '.join(POLICIES)}."
ERRATA_HELP = "Apply an errata file (docs/errata.md). Remembered for the workspace; `none` removes it."
DECODER_HELP = (
    "Decoder for BFCL responses (docs/bfcl-decoders.md). Remembered for the run; `model` restores the default."
)
SHARED_OPTIONS = {
    "annotator": (AnnotatorOption, None),
    "policy": _option(str, "--policy", "NAME", POLICY_HELP, UNANIMOUS),
    "data": _option(list[Path] | None, "--data", "DIR", "Dataset folder. Remembered for the run; repeatable."),
    "errata": _option(str | None, "--errata", "FILE", ERRATA_HELP),
    "workspace": _option(Path | None, "--workspace", "DIR", "Store .fcreview/ in DIR instead of next to the run."),
    "format": _option(str | None, "--format", "NAME", "Import the files as this benchmark, e.g. bfcl."),
    "decoder": _option(str | None, "--decoder", "NAME", DECODER_HELP),
}
"""Option for each field of `WorkspaceOptions`, in the order of the help."""
COMMON_OPTIONS = ("data", "errata", "workspace")


def workspace_command(
    *extra_options: str, common: tuple[str, ...] = COMMON_OPTIONS, path: ParameterSpec = PATH_ARGUMENT
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a command's first parameter, a `WorkspaceOptions`, by the argument and options that fill it.

    Args:
        extra_options: names in `SHARED_OPTIONS` that the command has in addition to `common`.
        path: the argument: `PATH_ARGUMENT`, `PATHS_ARGUMENT` or one that the command defines.
    """
    names = [name for name in SHARED_OPTIONS if name in {*extra_options, *common}]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        first, *own = signature(command).parameters.values()
        types = {"path": path[0]} | {each.name: hints[each.name] for each in own if each.name != "as_json"}
        types |= {name: SHARED_OPTIONS[name][0] for name in names}
        if "as_json" in hints:
            types["as_json"] = hints["as_json"]
        defaults = {"path": path[1]} | {each.name: each.default for each in own}
        defaults |= {name: SHARED_OPTIONS[name][1] for name in names}

        @wraps(command)
        def run(**given: Any) -> None:
            paths, shared = given.pop("path"), {name: given.pop(name) for name in names}
            if "decoder" in shared:
                shared["decoder"] = check_decoder(shared["decoder"])
            given[first.name] = WorkspaceOptions([paths] if isinstance(paths, Path) else paths or [], **shared)
            command(**given)

        keyword = Parameter.KEYWORD_ONLY
        parameters = [Parameter(name, keyword, default=defaults[name], annotation=of) for name, of in types.items()]
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = types
        return run

    return decorate


def split_names(text: str) -> list[str]:
    """Split the value of an option at commas, without empty names."""
    return [each.strip() for each in text.split(",") if each.strip()]
