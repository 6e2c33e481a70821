"""Random keys, in bursts, on every screen and at several sizes never end the app, and each review
is of the item that the screen named.
"""

from __future__ import annotations

import asyncio
import os
import random
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fcreview.cli.wiring import (
    build_form_fields,
    build_golden_services,
    build_report_services,
)
from fcreview.cli.workspace import WorkspaceSession
from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import Workspace
from fcreview.tui.app import FcreviewApp
from fcreview.tui.commands import CommandResult, CommandService
from fcreview.tui.session import Session
from tests.examples import only_long
from tests.faults.key_walker import KeyWalker, list_keys
from tests.faults.processes import LONG, times
from tests.sharing import Imports
from tests.store.factory import Imported
from tests.tui.screens.test_closing_while_opening import KEYS

FAILING = {
    "official": False,
    "error_type": "value_error:string",
    "first_difference": 'city "a" (golden "b")',
    "messages": [
        {"turn": 0, "step": -1, "role": "user", "content": "Where is the tower?"},
        {"turn": 0, "step": 0, "role": "assistant", "content": "It is in the city.\n" * 30},
    ],
}
RUNS = {
    "maple-8b": [FAILING, {"official": True}, FAILING, {"official": True}, FAILING],
    "birch-8b": [{"official": True}, {"official": True}, FAILING],
}
SAMPLES = ("bfcl", "generic", "inspect", "tau")
"""Sample runs with conversations, golden answers, judges, scores, trials and import issues."""
GUIDELINES = "A call passes if it answers the question.\n"


def add_reviews(workspace: Workspace) -> None:
    """Let two other annotators disagree, so that there is something to adjudicate."""

    for annotator, verdict in (("bob", True), ("carol", False)):
        with Store.open(workspace, annotator) as store:
            reviewer = Reviewer(store, Journal(workspace, annotator))
            for item in [row.item for row in store.fetch_page(View(), 0, 2)]:
                reviewer.review(item, Annotation(verdict=verdict))


async def run_command(command: str, _: Sequence[str], *__: object) -> CommandResult:
    await asyncio.sleep(random.choice((0, 0.02)))
    return CommandResult(f"{command} done\n", random.random() < 0.7)


@contextmanager
def open_app(workspace: Workspace, *, blind: bool) -> Iterator[FcreviewApp]:
    """Open a workspace in an app with all services. Commands do not run."""
    with Store.open(workspace, "alice", blind=blind) as store:
        reviewer = Reviewer(store, Journal(workspace, "alice"))
        session = Session(None, "alice", store, reviewer, blind=blind)
        services = build_report_services(WorkspaceSession(workspace, "alice"))
        commands = CommandService(build_form_fields, run_command)
        session.report_services = replace(services, commands=commands)
        session.golden_support = build_golden_services()
        yield FcreviewApp(session, View(queue="dataset"))


@pytest.mark.parametrize(
    ("runs", "blind"),
    [
        pytest.param("handmade", False, id="open", marks=only_long),
        pytest.param("handmade", True, id="blind"),
        pytest.param("samples", False, id="samples"),
        pytest.param("samples", True, id="samples-blind", marks=only_long),
    ],
)
async def test_random_keys_never_end_the_app(
    screens: None,
    imported: Imported,
    imports: Imports,
    samples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs: str,
    *,
    blind: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    seed = int(os.environ.get("FCREVIEW_SEED", random.randrange(1 << 30)))
    random.seed(seed)
    if runs == "handmade":
        workspace = imported(tmp_path / "work", RUNS)
    else:
        workspace = imports.copy([samples / name for name in SAMPLES], tmp_path / "work")
    (workspace.reviews.parent / "guidelines.md").write_text(GUIDELINES)
    add_reviews(workspace)
    walker = KeyWalker(list_keys())
    max_keys = times(150, 25_000)

    n_apps = 0
    while walker.n_keys < max_keys:
        n_apps += 1
        with open_app(workspace, blind=blind) as app:
            try:
                async with app.run_test(size=(100, 30)) as pilot:
                    await walker.walk(app, pilot, workspace, max_keys)
            except Exception:
                pytest.fail(
                    f"seed {seed}, {walker.n_keys} keys, {walker.slowest_pause}\n"
                    f"last keys {walker.sent}\n{traceback.format_exc()}"
                )
            assert app.return_code in (None, 0), (seed, walker.sent)
    print(f"\n{walker.n_keys} keys, {n_apps} apps, {dict(walker.screens.most_common())}")
    print(f"{walker.n_compared_reviews} reviews of the item that the screen named")
    print(f"seed {seed}, {walker.slowest_pause}")
    if LONG and not blind:
        assert {each.__name__ for each in KEYS} <= set(walker.screens)
