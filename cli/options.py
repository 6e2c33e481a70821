"""Define the arguments and options that several commands share.

`@workspace_command` adds the arguments and options that select a workspace, so that a command
declares only its specific ones:

    @workspace_command("annotator", "policy") def items(options: WorkspaceOptions, where:
    WhereOption = "", as_json: JsonOption = False) -> None:
        with open_workspace(options) as session: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from fcreview.errors import UsageError
from fcreview.model.effective_verdict import POLICIES, UNANIMOUS
from fcreview.run_plan import ImportOption

DEFAULT_DECODER = "model"
DEFAULT_OPTION_VALUES: dict[ImportOption, str] = {
    "decoder": DEFAULT_DECODER,
    "evaluator": "auto",
    "verdict_from": "default",
}
"""Values that restore the default of an import option, which depends on the files."""
EVALUATORS = ("2025-08", "2025-10")
NO_SCORES = "none"  # value of --score that forgets the score folders of the runs
NO_MAPPING = "none"  # value of --map that forgets the mapping files of the workspace
NO_ERRATA = "none"  # value of --errata that removes the errata from the workspace


@dataclass(frozen=True, slots=True)
class WorkspaceOptions:
    """Arguments and options that select a workspace and determine how runs are imported."""

    paths: Sequence[Path]
    data: Sequence[Path] | None = None
    workspace: Path | None = None
    format: str | None = None
    annotator: str | None = None
    policy: str = UNANIMOUS
    forget_data: bool = False  # whether to forget the dataset folders of earlier commands
    decoder: str | None = (
        None  # name of the decoder for BFCL responses, in the spelling that `parse_decoder` returns
    )
    evaluator: str | None = None  # version of ACEBench's rules
    verdict_from: str | None = None  # SCORER[.KEY] of an Inspect log
    score: Sequence[Path] | None = None  # score folders that do not stand beside their results
    language: str | None = None  # language of the dataset, such as `zh`
    mapping: str | None = None  # mapping file, or the name of one that fcreview has
    name: str | None = None  # name of the only run at the paths, empty to forget it
    execute: bool = False  # whether this command may execute predicted calls
    show_judge: bool = False  # whether verdicts of `fcreview judge` are always visible
    errata: str | None = None  # path of the errata file, `NO_ERRATA` to remove errata, or None

    @property
    def import_options(self) -> dict[str, str]:
        """The import options that the user named on the command line."""
        values = {
            "decoder": self.decoder,
            "evaluator": self.evaluator,
            "verdict_from": self.verdict_from,
        }
        return {name: value for name, value in values.items() if value}


def option(declaration: str, help_: str, **settings: Any) -> Any:
    """Create an option from a declaration such as `-o --output FILE`.

    A declaration without FILE creates a flag.
    """
    names = []
    metavar_words = []
    for word in declaration.split():
        if word.startswith("-"):
            names.append(word)
        else:
            metavar_words.append(word)
    metavar = " ".join(metavar_words) or None
    return typer.Option(*names, metavar=metavar, help=help_, **settings)


def argument(metavar: str, help_: str, *, show_default: bool = False) -> Any:
    return typer.Argument(metavar=metavar, help=help_, show_default=show_default)


JsonOption = Annotated[bool, option("--json", "Print JSON Lines instead of text.")]
WhereOption = Annotated[
    str,
    option(
        "--where EXPR",
        "Select items by a filter such as 'official:fail -reviewed error:value_error', or by a"
        " saved filter (@NAME).",
    ),
]
RunOption = Annotated[
    str | None,
    option("--run RUN", "Select one run by its number, name or model in `fcreview runs`."),
]
QUEUE_HELP = (
    "Item order (failures, dataset, disagreement, unreviewed, random or stratified), item selection"
    " (judged, uncertain or suspects), or a queue from `fcreview queue create`."
)
QueueOption = Annotated[str, option("--queue NAME", QUEUE_HELP)]
QueueOrDefaultOption = Annotated[
    str | None, option("--queue NAME", QUEUE_HELP, show_default="failures, or dataset with --blind")
]
OrderSeedOption = Annotated[
    int, option("--seed N", "Random seed for `--queue random` and `stratified`.")
]
SeedOption = Annotated[int, option("--seed N", "Random seed.")]
RandomSeedOption = Annotated[int | None, option("--seed N", "Random seed.", show_default="random")]
BlindOption = Annotated[
    bool, option("--blind", "Hide the other verdicts on an item until you submit your own.")
]
ForceOption = Annotated[bool, option("--force", "Replace the output file if it exists.")]
ItemArgument = Annotated[str, argument("ITEM", "Item id from `fcreview items`.")]
AnnotatorOption = Annotated[
    str | None,
    option(
        "--annotator NAME",
        "Annotator name. Default: FCREVIEW_ANNOTATOR, the configured name, your git name or your"
        " login name.",
    ),
]

ParameterSpec = tuple[Any, Any]  # annotated type and default value of a parameter
ONE_PATH_HELP = "A run, a folder of runs, or a folder with a workspace."
PATH_ARGUMENT: ParameterSpec = (Annotated[Path, argument("PATH", ONE_PATH_HELP)], Parameter.empty)
PATHS_TYPE = Annotated[
    list[Path], argument("PATH", "Runs, folders of runs, or a folder with a workspace.")
]
PATHS_ARGUMENT: ParameterSpec = (PATHS_TYPE, Parameter.empty)
OPTIONAL_PATHS_ARGUMENT: ParameterSpec = (PATHS_TYPE, None)
PATHS_OR_CURRENT_FOLDER: ParameterSpec = (PATHS_TYPE, [Path()])
ERRATA_HELP = (
    "Apply an errata file (docs/errata.md). fcreview remembers it for the workspace; `none` removes"
    " it."
)
DECODER_HELP = (
    "Decoder for BFCL responses (docs/bfcl-decoders.md). fcreview remembers it for the run; `model`"
    " restores the default."
)
EVALUATOR_HELP = (
    f"Version of ACEBench's rules: {', '.join(EVALUATORS)} or auto (docs/acebench.md). fcreview"
    " remembers it for the run."
)
VERDICT_FROM_HELP = (
    "Scorer of an Inspect log, or a key of its score, whose value is the verdict (docs/inspect.md),"
    " or the reward from which a rollout passes (reward>=1). fcreview remembers it for the run;"
    " `default` restores the default."
)
SCORE_HELP = (
    "Score folder of results that have another model name. fcreview remembers it; `none` forgets"
    " it. You can repeat the option."
)
LANGUAGE_HELP = (
    "Language of the dataset, such as zh, if no folder name tells it. fcreview remembers it for the"
    " run; `auto` restores the default."
)
MAP_HELP = (
    "Mapping file that says where everything is in the files (docs/mapping.md). fcreview remembers"
    " it; `none` forgets it."
)
SHOW_JUDGE_HELP = (
    "Show the verdicts of `fcreview judge` also on items that you have not reviewed"
    " (docs/judge.md)."
)
POLICY_HELP = f"Rule for items on which annotators disagree: {', '.join(POLICIES)}."
DATA_HELP = "Dataset folder. fcreview remembers it for the run. You can repeat the option."
WORKSPACE_HELP = "Store .fcreview/ in DIR instead of next to the run."
SHARED_OPTIONS: dict[str, ParameterSpec] = {
    "annotator": (AnnotatorOption, None),
    "policy": (Annotated[str, option("--policy NAME", POLICY_HELP)], UNANIMOUS),
    "show_judge": (Annotated[bool, option("--show-judge", SHOW_JUDGE_HELP)], False),
    "data": (Annotated[list[Path] | None, option("--data DIR", DATA_HELP)], None),
    "errata": (Annotated[str | None, option("--errata FILE", ERRATA_HELP)], None),
    "workspace": (Annotated[Path | None, option("--workspace DIR", WORKSPACE_HELP)], None),
    "format": (
        Annotated[
            str | None, option("--format NAME", "Import the files as this benchmark, e.g. bfcl.")
        ],
        None,
    ),
    "decoder": (Annotated[str | None, option("--decoder NAME", DECODER_HELP)], None),
    "evaluator": (Annotated[str | None, option("--evaluator VERSION", EVALUATOR_HELP)], None),
    "verdict_from": (
        Annotated[str | None, option("--verdict-from SCORER[.KEY]", VERDICT_FROM_HELP)],
        None,
    ),
    "score": (Annotated[list[Path] | None, option("--score DIR", SCORE_HELP)], None),
    "language": (Annotated[str | None, option("--language CODE", LANGUAGE_HELP)], None),
    "mapping": (Annotated[str | None, option("--map FILE", MAP_HELP)], None),
}
IMPORT_OPTIONS = ("format", "decoder", "evaluator", "verdict_from", "score", "language", "mapping")
"""Options in `SHARED_OPTIONS` that change how runs are found and read."""
COMMON_OPTIONS = ("data", "errata", "workspace")


def workspace_command(
    *extra_options: str,
    common_options: tuple[str, ...] = COMMON_OPTIONS,
    path_argument: ParameterSpec = PATH_ARGUMENT,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the arguments and options that select a workspace.

    The command function gets all of them in its first parameter, of the type `WorkspaceOptions`.

    Args:
        extra_options: Names in `SHARED_OPTIONS` that the command has beside `common_options`.
        path_argument: Specification of the PATH argument: `PATH_ARGUMENT`, `PATHS_ARGUMENT` or one
            that the command defines.
    """
    shared_names = [name for name in SHARED_OPTIONS if name in {*extra_options, *common_options}]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        return _spread_workspace_options(command, path_argument, shared_names)

    return decorate


def _spread_workspace_options(
    command: Callable[..., None], path_argument: ParameterSpec, shared_names: Sequence[str]
) -> Callable[..., None]:
    """Return a function with a parameter for the path and for each shared option, in place of the
    first parameter of the command, the `WorkspaceOptions`.

    Typer reads the options of a command from the signature and the annotations of its function, so
    both are replaced.
    """
    options_parameter, *_ = signature(command).parameters
    specs = _build_parameter_specs(command, path_argument, shared_names)

    @wraps(command)
    def run_command(**arguments: Any) -> None:
        workspace_values = {name: arguments.pop(name) for name in ("path", *shared_names)}
        own_arguments = arguments
        own_arguments[options_parameter] = _build_workspace_options(workspace_values)
        command(**own_arguments)

    run_command.__signature__ = _build_signature(specs)  # type: ignore[attr-defined]
    run_command.__annotations__ = {name: type_ for name, (type_, _) in specs.items()}
    return run_command


def _build_parameter_specs(
    command: Callable[..., None], path_argument: ParameterSpec, shared_names: Sequence[str]
) -> dict[str, ParameterSpec]:
    """Return the parameters of a command in the order of its help.

    The order is: the path, the parameters of the command itself, the shared options, and --json.
    """
    types = get_type_hints(command, include_extras=True)
    _, *own_parameters = signature(command).parameters.values()
    specs: dict[str, ParameterSpec] = {"path": path_argument}
    for parameter in own_parameters:
        specs[parameter.name] = (types[parameter.name], parameter.default)
    json_option = specs.pop("as_json", None)
    for name in shared_names:
        specs[name] = SHARED_OPTIONS[name]
    if json_option is not None:
        specs["as_json"] = json_option
    return specs


def _build_signature(specs: Mapping[str, ParameterSpec]) -> Signature:
    """Return the signature of a function with a keyword parameter for each specification."""
    parameters = []
    for name, (type_, default) in specs.items():
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=type_)
        )
    return Signature(parameters)


def _build_workspace_options(values: dict[str, Any]) -> WorkspaceOptions:
    """Build the options from the values of the path and of the shared options of a command."""
    fields = dict(values)
    path_or_paths = fields.pop("path")
    if isinstance(path_or_paths, Path):
        paths = [path_or_paths]
    else:
        paths = path_or_paths or []
    if "decoder" in fields:
        fields["decoder"] = parse_decoder(fields["decoder"])
        fields["evaluator"] = parse_evaluator(fields["evaluator"])
    return WorkspaceOptions(paths, **fields)


def parse_decoder(name: str | None) -> str | None:
    """Return the decoder's name in the importer's spelling.

    Raises UsageError for an unknown decoder.
    """
    if name is None or name == DEFAULT_DECODER:
        return name
    from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME

    importer_name = name.upper()
    if importer_name not in DECODERS_BY_NAME:
        names = ", ".join(sorted(DECODERS_BY_NAME))
        raise UsageError(f"there is no decoder {name!r}. Choose {DEFAULT_DECODER}, {names}")
    return importer_name


def parse_evaluator(name: str | None) -> str | None:
    """Return the version of the rules. Raises UsageError for an unknown version."""
    allowed = (*EVALUATORS, DEFAULT_OPTION_VALUES["evaluator"])
    if name is None or name in allowed:
        return name
    raise UsageError(f"there is no evaluator {name!r}. Choose {', '.join(allowed)}")


def split_at_commas(text: str) -> list[str]:
    """Split the value of an option at commas. Empty names are omitted."""
    return [each.strip() for each in text.split(",") if each.strip()]
