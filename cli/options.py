"""Arguments and options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fcreview.model.verdict import POLICIES

PathArgument = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A run, a folder of runs, or a folder with a workspace.", show_default=False),
]
PathArguments = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", help="Runs, folders of runs, or a folder with a workspace.", show_default=False),
]
Data = Annotated[
    list[Path] | None,
    typer.Option(
        "--data", metavar="DIR", help="Folder with the dataset, from now on; may be repeated.", show_default=False
    ),
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace", metavar="DIR", help="Keep .fcreview/ there instead of beside the run.", show_default=False
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Take the files for this benchmark's, e.g. bfcl.", show_default=False
    ),
]
DecoderOption = Annotated[
    str | None,
    typer.Option(
        "--decoder",
        metavar="NAME",
        help="What reads the replies of these BFCL runs (docs/bfcl.md), from now on; 'model' for the model's own.",
        show_default=False,
    ),
]
ErrataOption = Annotated[
    str | None,
    typer.Option(
        "--errata",
        metavar="FILE",
        help="Rescore by rule with these errata (docs/errata.md), from now on; 'none' for none.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a line on standard output, nothing else there.")]
WhereOption = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="EXPR",
        help="Only these items: 'official:fail -reviewed error:value_error'; @NAME: a saved filter.",
    ),
]
RunOption = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="Only this run: its number or model, as `runs` shows.", show_default=False
    ),
]
Annotator = Annotated[
    str | None,
    typer.Option("--annotator", metavar="NAME", help="Whose reviews these are.",
                 show_default=False),
]  # fmt: skip
QUEUE_OPTION = typer.Option(
    "--queue",
    metavar="NAME",
    help="Order: failures, dataset, disagreement, unreviewed, random or stratified; only judged, uncertain or suspects;"
    " or the items of a queue file.",
)
Queue = Annotated[str, QUEUE_OPTION]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the random and the stratified order.")]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        help=f"What counts where annotators differ: {', '.join(POLICIES)}.",
    ),
]


def names_in(given: str) -> list[str]:
    """Those of an option that takes several, separated by commas."""
    return [each.strip() for each in given.split(",") if each.strip()]
