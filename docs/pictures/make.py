"""Draw the pictures of README and docs from the sample runs: `make pictures`.

A picture shows the running app after the listed keys. Two annotators have reviewed three items
before, so that there are disagreements. Links to fonts are removed. The picture of the HTML report
needs Chromium and is omitted without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from textual.worker import WorkerCancelled

from fcreview.cli.options import WorkspaceOptions
from fcreview.cli.wiring import build_command_service
from fcreview.cli.workspace import WorkspaceSession
from fcreview.importers.registry import discover, read_items
from fcreview.model.review import Annotation
from fcreview.stats.sampling import ShareOptions
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.queue_file import write_queue
from fcreview.store.queue_sampling import QueueRequest
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace, find_workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.commands import ReportServices
from fcreview.tui.session import Session

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent.parent / "sample_runs"
FONTS = re.compile(r"@font-face\s*\{[^}]*\}\s*")


@dataclass(frozen=True, slots=True)
class Picture:
    name: str
    benchmark: str
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (80, 24)
    item: str | None = None
    is_sampled: bool = False
    """Whether two annotators review a random sample of the larger run first."""


PICTURES = (
    Picture("overview", benchmark="bfcl", keys=("v",), size=(120, 34)),
    Picture("queue", "bfcl"),
    Picture("review", "bfcl", size=(160, 40)),
    Picture("clusters", benchmark="bfcl", keys=("c",)),
    Picture("item", "bfcl", item="multi_turn_base_0"),
    Picture("judge", benchmark="complexfuncbench", keys=("enter",), size=(110, 34)),
    Picture("adjudication", benchmark="bfcl", keys=("x",), size=(120, 34)),
    Picture("compare", benchmark="bfcl", keys=("r", "down", "=", "down", "="), size=(120, 30)),
    Picture("estimates", benchmark="bfcl", keys=("v", "M"), size=(120, 30), is_sampled=True),
)


def prepared(benchmark: str, place: Path) -> Workspace:
    """Import the sample runs of a benchmark into a new workspace, in which two annotators
    disagree on three items.
    """
    shutil.copytree(SAMPLES / benchmark, place / benchmark)
    workspace = find_workspace(place / benchmark, place / benchmark)
    import_runs(workspace, discover([place / benchmark]).plans, read_items, n_workers=1)
    for who, verdict, note in (
        ("bob", True, "the same city"),
        ("carol", False, "another argument than asked for"),
    ):
        with Store.open(workspace, who) as store:
            for row in store.fetch_page(View(queue="failures"), 0, 3):
                Reviewer(store, Journal(workspace, who)).review(
                    row.item, Annotation(verdict=verdict, note=note)
                )
    return workspace


def review_sample(workspace: Workspace) -> None:
    """Draw a sample of 24 items; alice and bob review their shares and differ on one of four
    shared items.
    """
    with Store.open(workspace, "alice") as store:
        run = max(store.fetch_runs(), key=lambda each: each.n_items).run
        sharing = ShareOptions(("alice", "bob"), overlap=4)
        request = QueueRequest("pilot", View(runs=(run,)), 24, "official", sharing)
        write_queue(workspace, store.draw_queue(request))
    for who, doubted in (("alice", "live_simple_0-0-0"), ("bob", "simple_python_1")):
        with Store.open(workspace, who) as store:
            reviewer = Reviewer(store, Journal(workspace, who))
            reviewer.queue = "pilot"
            for row in store.fetch_page(View(queue="pilot"), 0, 24):
                reviewer.review(
                    row.item, Annotation(verdict=bool(row.official) or row.id == doubted)
                )


async def wait_for_workers(app: FcreviewApp) -> None:
    """Wait until no task runs. A task that another one replaces is cancelled."""
    while list(app.workers):
        with contextlib.suppress(WorkerCancelled):
            await app.workers.wait_for_complete()


async def draw(picture: Picture, workspace: Workspace) -> str:
    if picture.is_sampled:
        review_sample(workspace)
    options = WorkspaceOptions([workspace.parent_folder])
    commands = build_command_service(WorkspaceSession(workspace, "alice", options=options))
    services = ReportServices(
        lambda *_: "",
        open_benchmarks=lambda _: sys.exit("no export in a picture"),
        commands=commands,
    )
    app = FcreviewApp(Session(workspace, "alice", services=lambda: services), View(), picture.item)
    async with app.run_test(size=picture.size) as pilot:
        for key in (None, *picture.keys):
            if key:
                await pilot.press(key)
            await wait_for_workers(app)
            await asyncio.sleep(1)  # what a thread has found is drawn by the next frames
            await pilot.pause()
        return FONTS.sub("", app.export_screenshot(title="fcreview"))


def draw_report(workspace: Workspace, target: Path) -> None:
    """Write a picture of the HTML report in Chromium, 1,200 pixels wide."""
    program = shutil.which("chromium")
    if program is None:
        print("no Chromium: report.png is not drawn", file=sys.stderr)
        return
    page = workspace.parent_folder / "report.html"
    command = Path(sys.executable).with_name("fcreview")
    subprocess.run(  # noqa: S603
        [command, "report", workspace.parent_folder, "--html", page],
        check=True,
        capture_output=True,
    )
    options = [
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        "--window-size=1200,1100",
        f"--screenshot={target}",
    ]
    subprocess.run([program, *options, page.as_uri()], check=True, capture_output=True)  # noqa: S603


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        draw_report(prepared("bfcl", Path(place)), HERE / "report.png")
    for picture in PICTURES:
        with tempfile.TemporaryDirectory() as place:
            text = asyncio.run(draw(picture, prepared(picture.benchmark, Path(place))))
        (HERE / f"{picture.name}.svg").write_text(text, "utf-8")
        print(f"{picture.name}.svg  {len(text):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
