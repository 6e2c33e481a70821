"""Two workspaces that differ only in what a blind annotator must not see: verdicts, reasons and
reviews of others.

Each hidden text contains a word that appears nowhere else.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.judging.records import Judgement, JudgeSetup
from fcreview.model.item import (
    AcceptedValues,
    Call,
    CallPair,
    Extra,
    ImportIssue,
    Item,
    Message,
    RecordedReview,
    RecordLocation,
    Run,
    StateDifference,
    Verdict,
)
from fcreview.model.review import Annotation
from fcreview.run_plan import RunPlan
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.judgements import get_judge_path, open_judge_writer
from fcreview.store.reviews.journal import Journal
from fcreview.store.workspace import Workspace, find_workspace
from tests.store.factory import make_item

CALL = "turn:1/call:1"
COUNT = 6
PLANTED = ("zaphod", "quokka", "vellum", "thimble")
"""Parts of all hidden words: in errors, reasons, benchmark fields, and reviews and names of
others.
"""


@dataclass(frozen=True, slots=True)
class PlantedWorkspace:
    name: str
    """A part of each planted word."""
    passing: tuple[bool, ...]
    """The official verdict of each item. Some recomputed verdicts differ."""

    def word(self, text: str) -> str:
        return f"{text}-{self.name}"


ONE = PlantedWorkspace("one", (True, False, False, True, False, True))
OTHER = PlantedWorkspace("other", (False, True, True, False, False, False))


def build_workspace(planted: PlantedWorkspace, place: Path) -> Workspace:
    """Build either workspace in the same place, because the screens show paths.

    Deletes the one before.
    """
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    workspace = find_workspace(place)
    results, scores = place / "results.jsonl", place / "scores.jsonl"
    results.write_text(
        "".join(
            json.dumps({"id": f"item_{n}", "result": "[get_weather()]"}) + "\n"
            for n in range(COUNT)
        )
    )
    scores.write_text(
        "".join(
            json.dumps({"id": f"item_{n}", "valid": ok}) + "\n"
            for n, ok in enumerate(planted.passing)
        )
    )
    metrics = {"simple": {"accuracy": sum(planted.passing) / COUNT}}
    run = Run("bfcl", "V4", "en", "maple-8b", str(place), official_metrics=metrics, title="BFCL")
    import_runs(
        workspace,
        [RunPlan(run, [results])],
        lambda plan: _make_items(planted, plan, scores),
        n_workers=1,
    )
    _write_reviews(planted, workspace)
    _write_filters(planted, workspace)
    write_judgements(planted, workspace)
    return workspace


def write_judgements(planted: PlantedWorkspace, workspace: Workspace) -> None:
    """Replace the verdicts of `fcreview judge` on all items."""
    from fcreview.store.store import Store

    reason = planted.word("vellum")
    get_judge_path(workspace, "oak").unlink(missing_ok=True)
    with Store.open(workspace) as store:
        numbers = [store.find_items(f"item_{number}")[0] for number in range(COUNT)]
        contents = store.judgements.fetch_contents(numbers)
    setup = JudgeSetup(
        source="command",
        address=reason,
        model=reason,
        criterion="correct",
        template="{{predicted}}",
        prompt_hash=reason,
    )
    with open_judge_writer(workspace, "oak") as writer:
        writer.append(setup)
        for number, ok in zip(numbers, planted.passing, strict=True):
            verdict = Judgement(
                setup.id,
                content=contents[number],
                criterion="correct",
                verdict=ok,
                rationale=reason,
                model=reason,
                prompt_hash=reason,
                time="2026-01-01T00:00:00Z",
            )
            writer.append(verdict)


def _make_items(
    planted: PlantedWorkspace, plan: RunPlan, scores: Path
) -> Iterator[Item | ImportIssue]:
    offset = 0
    for number, line in enumerate(plan.results[0].read_bytes().splitlines(keepends=True)):
        yield _make_item(planted, number, str(plan.results[0]), offset, len(line), str(scores))
        offset += len(line)


def _make_item(
    planted: PlantedWorkspace, number: int, file: str, offset: int, length: int, scores: str
) -> Item:
    ok = planted.passing[number]
    long = number == 1
    error, reason = planted.word("zaphod"), planted.word("quokka")
    issue = ImportIssue(
        scores, number + 1, what=f"the entry is odd: {error}", item=f"item_{number}"
    )
    two = {
        "n_turns": 2,
        "n_steps": 4,
        "messages": [
            *(Message(turn, -1, role="user", content=f"Please do part {turn}.") for turn in (0, 1)),
            *(Message(turn, 0, role="tool", content='{"ok": true}', name="cd") for turn in (0, 1)),
            *(
                Message(turn, 1, role="assistant", content=f"Part {turn} is done.")
                for turn in (0, 1)
            ),
        ],
        "golden": [
            Call("golden", "cd", arguments={"folder": AcceptedValues(["a"])}, turn=turn)
            for turn in (0, 1)
        ],
        "predicted": [
            Call("predicted", "cd", arguments={"folder": "b"}, turn=turn) for turn in (0, 1)
        ],
        "pairs": [CallPair(turn, 0, 0, "cd", "!", []) for turn in (0, 1)],
    }
    return make_item(
        number,
        **(two if long else {}),
        id=f"item_{number}",
        category="simple" if number % 2 else "parallel",
        group="talk" if number > 3 else None,
        official=ok,
        rule=not ok if number == 2 else ok,
        judge=ok,
        error_type=None if ok else error,
        rule_error_type=None if ok else error,
        rule_note=reason if ok else None,
        diff_function=None if ok else error,
        diff_argument=None if ok else error,
        first_difference=None if ok else error,
        decisive_step=None if ok else error,
        verdicts=[
            Verdict("official", ok, error_type=None if ok else error, rationale=reason, by=error),
            Verdict("rule", ok, rationale=reason),
            Verdict("judge", ok, rationale=reason, by=planted.word("vellum")),
            Verdict(
                "judge",
                ok,
                target=CALL,
                criterion="equivalent",
                rationale=reason,
                by=planted.word("vellum"),
            ),
            Verdict(
                "judge",
                2 if ok else 0,
                target="response",
                criterion="completeness",
                rationale=reason,
            ),
            Verdict(
                "rule",
                3 if ok else 5,
                criterion="decisive_step",
                error_type=error,
                rationale=reason,
                by=error,
            ),
        ],
        extra=Extra(
            failing_turn=(0 if ok else 1) if long else None,
            state_differences={planted.word("vellum"): StateDifference(1, 2)},
            score_record=RecordLocation(scores, number + 1, 0, 10 if ok else 12),
            needs=[[CALL]] if ok else None,
            metadata={
                "score": 1.0 if ok else 0.0,
                "scores": {"match": "C" if ok else "I"},
                "edited": {"match": planted.word("thimble")},
                planted.word("vellum"): reason,
            },
            recorded_reviews=[
                RecordedReview(
                    "inspect",
                    planted.word("thimble"),
                    not ok,
                    reason=reason,
                    time="2026-01-01T00:00:00Z",
                ),
                RecordedReview("inspect", planted.word("thimble"), not ok, CALL, reason=reason),
            ],
        ),
        issues=[] if ok else [issue],
        file=file,
        line=number + 1,
        offset=offset,
        length=length,
    )


def _write_reviews(planted: PlantedWorkspace, workspace: Workspace) -> None:
    """Write reviews and adjudications of others on items, calls and criteria, stale reviews, and
    a damaged journal.
    """
    from fcreview.store.store import Store

    note, tag = planted.word("thimble"), planted.word("vellum")
    acts: list[tuple[str, int, Annotation, dict[str, Any]]] = []
    for number, ok in enumerate(planted.passing):
        acts.append(("bob", number, Annotation(verdict=ok, note=note, tags=[tag]), {}))
        acts.append(
            (
                "bob",
                number,
                Annotation(criterion="decisive_step", verdict=2 if ok else 4, note=note),
                {},
            )
        )
        if ok:
            acts.append(
                ("carol", number, Annotation(verdict=not ok, fault="golden", note=note), {})
            )
            acts.append(
                (
                    "carol",
                    number,
                    Annotation(target=CALL, criterion="equivalent", verdict=False, note=note),
                    {},
                )
            )
            acts.append(
                (
                    "dora",
                    number,
                    Annotation(act="adjudicate", target=CALL, verdict=True, note=note),
                    {},
                )
            )
        else:
            acts.append(("bob", number, Annotation(note=note), {"prediction_hash": "older"}))
            acts.append(
                (
                    "dora",
                    number,
                    Annotation(act="adjudicate", verdict=True, fault="judge", note=note),
                    {},
                )
            )
    with Store.open(workspace) as store:
        for who, number, annotation, changed in acts:
            key, prediction, golden = store.reviews.fetch_key_and_hashes(
                store.find_items(f"item_{number}")[0]
            )
            hashes = {"prediction_hash": prediction, "golden_hash": golden, **changed}
            Journal(workspace, f"{who}-{note}").append(key, annotation, **hashes)
    torn = workspace.reviews / f"erin-{note}.jsonl"
    if planted is ONE:
        torn.write_bytes(b'{"event": "cut o')


def _write_filters(planted: PlantedWorkspace, workspace: Workspace) -> None:
    """Write saved and typed filters of alice when she was not blind, and of another annotator."""
    hidden_filter = f"error:{planted.word('zaphod')} tag:{planted.word('quokka')} OR official:fail"
    for who in ("alice", f"bob-{planted.word('thimble')}"):
        for folder, kept in (
            ("filters", {"told": hidden_filter}),
            ("history", {"filter": [hidden_filter], "search": []}),
        ):
            (workspace.root / folder).mkdir(exist_ok=True)
            (workspace.root / folder / f"{who}.json").write_text(json.dumps(kept))
    other = workspace.root / "filters" / f"bob-{planted.word('thimble')}.json"
    other.write_text(json.dumps({planted.word("vellum"): "you:none"}))
