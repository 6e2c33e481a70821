"""One override changes exactly the metrics that depend on it, to the values that the official
program would print.

Every expected value is computed here by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.leaderboard import SIMPLE_MEAN
from fcreview.model.metric import MetricKey, MetricSource
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, find_changes

OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
Moved = dict[MetricKey, tuple[float | None, float | None]]
SCORE: Callable[[int, str], MetricKey] = lambda level, name: ("accuracy", level, name)  # noqa: E731


def override(
    runs: ReviewedRuns,
    item: str,
    value: Any,
    target: str = "item",
    criterion: str = "correct",
    run: int = 1,
) -> Moved:
    """Override one verdict and return the metrics that change.

    Only corrected metrics may change.
    """
    verdict = ItemVerdict(runs.find_item(item, run), target, criterion, value)
    moved: dict[tuple[MetricSource, MetricKey], Any] = find_changes(
        runs.compute_metrics(), runs.compute_metrics(*runs.make_events([verdict]))
    )
    assert {source for source, _ in moved} <= {"corrected"}
    return {key: values for (_, key), values in moved.items()}


def check_changes(moved: Moved, expected: Moved) -> None:
    """Check that the same metrics change, from and to the same values."""
    assert moved.keys() == expected.keys()
    for key, (before, after) in expected.items():
        assert moved[key] == (pytest.approx(before, abs=1e-9), pytest.approx(after, abs=1e-9)), key


# BFCL: `maple-8b` of the sample runs. Every category that was not run counts as 0 in the overall
# accuracy.


@pytest.fixture
def bfcl(samples: Path, open_runs: OpenRuns) -> ReviewedRuns:
    return open_runs([samples / "bfcl"])


def test_bfcl_item(bfcl: ReviewedRuns) -> None:
    """1, then 2 of 6 simple Python calls are right."""
    others = 1 / 3 + 1 / 3 + 1 / 2  # multiple, parallel, parallel multiple
    simple = [(passed / 6 + 1 / 2 + 1 / 2) / 3 for passed in (1, 2)]  # Python, Java, JavaScript
    non_live = [(one + others) / 4 for one in simple]
    irrelevance, multi_turn, agentic = (
        (1 / 2 + 1 / 2) / 2,
        (0 + 0 + 1 + 0) / 4,
        ((1 + 0) / 2 + 0) / 2,
    )
    # 2 of 9 live items pass.
    fixed = 0.1 * (2 / 9) + 0.1 * irrelevance + 0.3 * multi_turn + 0.4 * agentic
    check_changes(
        override(bfcl, "simple_python_1", True),
        {
            SCORE(3, "simple_python"): (1 / 6, 2 / 6),
            SCORE(2, SIMPLE_MEAN): (simple[0], simple[1]),
            SCORE(1, "non_live"): (non_live[0], non_live[1]),
            SCORE(0, "overall"): (fixed + 0.1 * non_live[0], fixed + 0.1 * non_live[1]),
        },
    )


def test_bfcl_turn(bfcl: ReviewedRuns) -> None:
    """A failed turn fails the item, the only one of its category, one of four categories that
    weigh 30 %.
    """
    moved = override(bfcl, "multi_turn_miss_param_0", False, target="turn:1")
    overall = moved.pop(SCORE(0, "overall"))
    check_changes(
        moved, {SCORE(2, "multi_turn_miss_param"): (1, 0), SCORE(1, "multi_turn"): (1 / 4, 0)}
    )
    assert overall[0] - overall[1] == pytest.approx(0.3 / 4)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("item", "value"), [("web_search_base_0", False), ("memory_kv_0-customer-0", True)]
)
def test_bfcl_final_answer(bfcl: ReviewedRuns, item: str, value: bool) -> None:
    """Only the answer is judged: web search is 1 of 2 categories, memory 1 of 3, each half of 40
    %.
    """
    moved = override(bfcl, item, value, target="response")
    overall = moved.pop(SCORE(0, "overall"))
    step = (-1 / 2 if item.startswith("web") else 1 / 3) / 2
    category = item.rpartition("_")[0]
    before = 0.0 if value else 1.0
    check_changes(
        moved,
        {SCORE(3, category): (before, 1 - before), SCORE(1, "agentic"): (1 / 4, 1 / 4 + step)},
    )
    assert overall[1] - overall[0] == pytest.approx(0.4 * step)  # type: ignore[operator]


# ACEBench: `synth-good`, run 1 English, run 2 Chinese, scored with the official tools.


@pytest.fixture
def ace(bench: Path, open_runs: OpenRuns) -> ReviewedRuns:
    return open_runs([bench / "acebench"])


ROOTS = (823**0.5, 150**0.5, 50**0.5)
AGENT = {"multi_step": 0.6, "multi_turn": 0.867}
XLSX: Callable[[str], MetricKey] = lambda name: ("result.xlsx", 0, name)  # noqa: E731
BOTH: Callable[[str], MetricKey] = lambda name: ("both languages", 0, name)  # noqa: E731
SOUND: MetricKey = ("sound", 0, "Summary")
PROCESS: Callable[[str], MetricKey] = lambda name: ("process accuracy", 0, name)  # noqa: E731


def overall_summary(normal: float, special: float, agent: float) -> float:
    return round(0.578 * normal + 0.2676 * special + 0.1545 * agent, 3)


@pytest.mark.sweep
def test_acebench_normal_item(ace: ReviewedRuns) -> None:
    """43, then 44 of 50 boolean items are right, and the error counts fall by one."""
    rest = 0.76 + 0.92 + 0.8 + 0.5 + 0.82  # the other atoms
    others = 0.74 + 0.70 + 0.36 + 0.50 + 0.76 + 0.84  # single 2, multi-turn 2, similar, preference
    atom = [round((one + rest) / 6, 3) for one in (0.86, 0.88)]
    normal = [round((one + rest + others) / 12, 3) for one in (0.86, 0.88)]
    total = [overall_summary(one, 0.727, 0.734) for one in normal]
    assert (atom, normal, total) == ([0.777, 0.78], [0.713, 0.715], [0.72, 0.721])
    moved = override(ace, find_failure(ace, "normal_atom_bool", "value_error:string"), True)
    sound = moved.pop(SOUND, None)
    check_changes(
        moved,
        {
            SCORE(0, "normal_atom_bool"): (0.86, 0.88),
            XLSX("bool"): (0.86, 0.88),
            XLSX("atom"): (atom[0], atom[1]),
            XLSX("normal_summary"): (normal[0], normal[1]),
            XLSX("Summary"): (total[0], total[1]),
            BOTH("Atom"): ((atom[0] + 0.843) / 2, (atom[1] + 0.843) / 2),
            BOTH("Summary"): ((normal[0] + 0.794) / 2, (normal[1] + 0.794) / 2),
            BOTH("Overall"): ((total[0] + 0.791) / 2, (total[1] + 0.791) / 2),
            **error_changes(ace, "param value", "value_error:string"),
        },
    )
    weighted = [
        sum(r * v for r, v in zip(ROOTS, (one, 0.727, 0.734), strict=True)) / sum(ROOTS)
        for one in normal
    ]
    if round(weighted[0], 3) != round(weighted[1], 3):
        assert sound == (round(weighted[0], 3), round(weighted[1], 3))


def find_failure(runs: ReviewedRuns, category: str, error: str) -> str:
    sql = (
        f"SELECT id FROM items WHERE run = 1 AND category = '{category}' AND error_type = '{error}'"
        " LIMIT 1"
    )
    return str(runs.store.run_sql(sql)[1][0][0])


def error_changes(runs: ReviewedRuns, name: str, error: str) -> Moved:
    """Return the changes of the counts of an error type and of its class, as counted from the
    score files.
    """
    sql = (
        "SELECT error_type, count(*) FROM items WHERE run = 1 AND category LIKE 'normal%' AND NOT"
        " official GROUP BY 1"
    )
    counts: dict[str, int] = dict(runs.store.run_sql(sql)[1])
    total = sum(count for kind, count in counts.items() if kind.startswith(error.partition(":")[0]))
    kind = counts[error]
    return {
        ("normal errors", 0, name): (total, total - 1),
        ("normal errors", 1, error): (kind, kind - 1),
    }


def test_acebench_dialogue_step(ace: ReviewedRuns) -> None:
    """Dialogue 0 of `switch` has two steps, of which one is overridden: 25, then 24 of 50 dialogues
    are right, and its share of right steps falls from 1 to 1/2.
    """
    sql = (
        'SELECT "group", count(*) n, list(id ORDER BY id) FROM items WHERE run = 1 AND'
        " category = 'normal_multi_turn_user_switch' GROUP BY 1 HAVING bool_and(official) ORDER BY"
        " 1 LIMIT 1"
    )
    ((_, steps, ids),) = ace.store.run_sql(sql)[1]
    assert steps == 2
    moved = override(ace, ids[0], False)
    name = "normal_multi_turn_user_switch"
    assert moved[SCORE(0, name)] == (25 / 50, 24 / 50)
    assert moved[PROCESS(name)] == (0.67, round((0.67 * 50 - 1 / 2) / 50, 3))
    assert moved[XLSX("multiple_turn")] == (round((0.5 + 0.36) / 2, 3), round((0.48 + 0.36) / 2, 3))
    assert moved["normal errors", 1, "no error type"] == (None, 1)
    assert moved["normal errors", 0, "other"][1] == moved["normal errors", 0, "other"][0] + 1  # type: ignore[operator]


@pytest.mark.sweep
def test_acebench_special_item(ace: ReviewedRuns) -> None:
    """38, then 39 of 50 items are right. The summary is (0.78 + 0.66 + 0.76) / 3."""
    moved = override(ace, find_failure(ace, "special_incomplete", "error_detection"), True)
    assert moved[SCORE(0, "special_incomplete")] == (38 / 50, 39 / 50)
    assert moved[XLSX("special_summary")] == (0.727, round((0.78 + 0.66 + 0.76) / 3, 3))
    assert moved[BOTH("Special")] == ((0.727 + 0.773) / 2, (0.733 + 0.773) / 2)
    before, after = moved["special errors", 0, "error_detection"]
    assert after == before - 1  # type: ignore[operator]


def test_acebench_right_end_state_has_process_score_1(ace: ReviewedRuns) -> None:
    """12, then 13 of 20 end states are right. Of eight process shares, three of which are 1/3, one
    1/3 becomes 1. The official program adds exact shares. The rounded shares in the file would give
    0.8385.
    """
    agent = [round((one + AGENT["multi_turn"]) / 2, 3) for one in (0.6, 0.65)]
    total = [overall_summary(0.713, 0.727, one) for one in agent]
    moved = override(ace, "agent_multi_step_0", True)
    moved.pop(SOUND, None)
    others = 1 / 3 + 1 / 3 + 1 / 2 + 3 / 5 + 3 / 5 + 4 / 7 + 5 / 6
    assert round((12 + 1 / 3 + others) / 20, 3) == 0.805
    after = round((12 + 1 + others) / 20, 3)
    assert after == 0.839
    check_changes(
        moved,
        {
            SCORE(0, "agent_multi_step"): (0.6, 0.65),
            XLSX("agent_multi_step"): (0.6, 0.65),
            PROCESS("agent_multi_step"): (0.805, after),
            XLSX("agent_multi_step_process"): (0.805, after),
            XLSX("agent_summary"): (agent[0], agent[1]),
            XLSX("Summary"): (total[0], total[1]),
            BOTH("Agent"): ((agent[0] + 0.808) / 2, (agent[1] + 0.808) / 2),
            BOTH("Overall"): ((total[0] + 0.791) / 2, (total[1] + 0.791) / 2),
            ("agent errors", 0, "class attributes wrong"): (12, 11),
        },
    )


def test_acebench_wrong_end_state_is_scored_by_milestones(ace: ReviewedRuns) -> None:
    """`agent_multi_step_1` reached the end state with half of its milestones.

    Its process score falls from 1 to 1/2.
    """
    moved = override(ace, "agent_multi_step_1", False)
    assert moved[SCORE(0, "agent_multi_step")] == (12 / 20, 11 / 20)
    assert moved[PROCESS("agent_multi_step")] == (0.805, round((0.805 * 20 - 1 / 2) / 20, 3))


def test_acebench_item_without_dataset_has_unknown_milestones(ace: ReviewedRuns) -> None:
    """The failed Chinese item leaves the mean: the sum 19 (0.95 * 20) less its 1 is 18, over 19
    items.
    """
    moved = override(ace, "agent_multi_step_0", False, run=2)
    assert moved[PROCESS("agent_multi_step")] == (0.95, round(18 / 19, 3))


def test_acebench_process_accuracy(ace: ReviewedRuns) -> None:
    """1/3 becomes 5/6, which adds 1/2 to the sum over 20 items. No other metric changes."""
    check_changes(
        override(ace, "agent_multi_step_0", 5 / 6, criterion="process_accuracy"),
        {
            PROCESS("agent_multi_step"): (0.805, 0.83),
            XLSX("agent_multi_step_process"): (0.805, 0.83),
        },
    )


# The generic format: `helpdesk` of the sample runs.


@pytest.fixture
def generic(samples: Path, open_runs: OpenRuns) -> ReviewedRuns:
    return open_runs([samples / "generic"])


def test_generic_item(generic: ReviewedRuns) -> None:
    check_changes(
        override(generic, "desk_1", True, run=2),
        {SCORE(0, "all items"): (2 / 3, 3 / 3), SCORE(1, "open"): (1 / 2, 2 / 2)},
    )


def test_generic_other_criterion(generic: ReviewedRuns) -> None:
    moved = override(generic, "desk_2", 1, target="response", criterion="completeness", run=2)
    check_changes(moved, {("other criteria", 0, "completeness"): (2, 1)})


@pytest.mark.parametrize(
    "name", ["bfcl", "acebench", "generic", "hammerbench", "confetti", "complexfuncbench"]
)
def test_report_and_run_list_count_disagreements_alike(
    samples: Path, open_runs: OpenRuns, name: str
) -> None:
    runs = open_runs([samples / name])
    every = [
        one
        for one in runs.automatic_verdicts()
        if (one.target, one.criterion) == ("item", "correct")
    ]
    first, second = every[0], every[-1]
    disagreement = [
        *runs.make_events([first]),
        *runs.make_events(
            [ItemVerdict(first.item, "item", "correct", not first.value)], annotator="bob"
        ),
    ]
    flip = (
        runs.make_events([ItemVerdict(second.item, "item", "correct", not second.value)])
        if second != first
        else []
    )
    runs.store.reviews.rebuild([*disagreement, *flip])
    for row in runs.store.fetch_runs():
        corrected = runs.store.analysis.fetch_scored_items(row.run)["corrected"]
        assert sum(one.valid is not None for one in corrected) == row.effective_known
        assert sum(one.valid is True for one in corrected) == row.effective_pass
