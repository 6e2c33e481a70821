"""The overview shows rates, reasons of failures, progress, scores and next actions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fcreview.matching.clusters import BY_ERROR_TYPE, Cluster, group_clusters
from fcreview.model.metric import OwnScore
from fcreview.model.run_name import build_run_names
from fcreview.stats.estimation import PassRateEstimate
from fcreview.store.rows import RunRow
from fcreview.tables.queues import ShareProgress
from fcreview.tui.figures.overview import (
    NextAction,
    Overview,
    RunArrangement,
    build_run_table,
    format_completed_queues,
    format_label_progress,
    format_run_facts,
    list_categories_by_size,
    list_next_actions,
    name_estimate_kinds,
    review_progress_lines,
    score_lines,
    sort_runs_by_pass_rate,
)
from fcreview.tui.queue.choices import failure_reason_lines
from fcreview.tui.queue.columns import parse_difference_line, shorten_difference_line
from fcreview.tui.queue.header import rates_line
from fcreview.tui.queue_state import QueueProgress
from fcreview.tui.text.lines import line_width, plain_text
from tests.tui.text.test_format import run_row


def category_counts(name: str, n: int, passes: int, known: int | None = None) -> dict[str, object]:
    known = n if known is None else known
    return {
        "category": name,
        "n": n,
        "official_pass": passes,
        "official_known": known,
        "rule_pass": 0,
        "rule_known": 0,
    }


def make_two_runs() -> list[RunRow]:
    weak, strong = run_row("weak"), run_row("strong")
    weak = replace(weak, run=1, official_pass=1, official_known=4, n_items=4)
    strong = replace(strong, run=2, official_pass=3, official_known=4, n_items=4)
    weak.categories[:] = [category_counts("simple", 3, 1), category_counts("live", 1, 0, known=0)]
    strong.categories[:] = [category_counts("simple", 3, 3), category_counts("live", 1, 0)]
    return [weak, strong]


def failure_groups(*counts: tuple[str, int]) -> list[object]:
    clusters = [
        Cluster(
            name,
            "f",
            "city",
            n,
            ["a_1"],
            "",
            (f"error:{name}", "", ""),
            difference='city "a" (golden "b")',
        )
        for name, n in counts
    ]
    return list(group_clusters(clusters, BY_ERROR_TYPE))


def test_best_run_and_largest_category_are_first() -> None:
    runs = make_two_runs()
    assert [run.run for run in sort_runs_by_pass_rate(runs, blind=False)] == [2, 1]
    assert [run.info.model for run in sort_runs_by_pass_rate(runs, blind=True)] == [
        "strong",
        "weak",
    ]
    assert list_categories_by_size(runs) == ["simple", "live"]


def test_run_with_judge_verdicts_only_shows_judge_rate() -> None:
    judged = replace(make_two_runs()[0], official_known=0, judge_pass=2, judge_known=4)
    judged.categories[:] = [
        category_counts("simple", 4, 0, known=0) | {"judge_pass": 2, "judge_known": 4}
    ]
    (line,) = map(plain_text, build_run_table(Overview([judged], "alice"), [judged], 78, 0).lines)
    assert "50.0 % judge" in line and "50.0  " in line
    assert judged.official_rate_text == "50.0 % judge"
    assert plain_text(rates_line([judged], 80)).startswith(" judge 50.0 %   corrected")
    assert replace(judged, official_known=1).official_rate_text == "100.0 % of 1"


@pytest.mark.parametrize("cells", [60, 78, 116, 156])
def test_incomplete_rates_of_categories_are_dashes(cells: int) -> None:
    runs = sort_runs_by_pass_rate(make_two_runs(), blind=False)
    table = build_run_table(Overview(runs, "alice"), runs, cells, 0)
    strong, weak = map(plain_text, table.lines)
    assert "strong" in strong and "75.0 %" in strong and "100.0" in strong and "0.0" in strong
    assert "weak" in weak and "25.0 %" in weak and "33.3" in weak and weak.rstrip().endswith("–")
    assert all(line_width(line) <= cells for line in (table.heading, *table.lines))
    assert table.n_hidden_categories == 0


def test_categories_that_do_not_fit_are_counted_and_reachable() -> None:
    runs = make_two_runs()
    table = build_run_table(Overview(runs, "alice"), runs, 45, 0)
    assert table.n_hidden_categories == 1 and "live" not in plain_text(table.heading)
    assert "1 more category →" in format_run_facts(Overview(runs, "alice"), 1)
    assert "live" in plain_text(build_run_table(Overview(runs, "alice"), runs, 45, 1).heading)


def test_long_titles_of_categories_take_two_lines_so_that_more_rates_fit() -> None:
    names = ["simple_python", "live_irrelevance", "parallel_multiple", "web", "multi_turn_base"]
    categories = [category_counts(name, 40, 20) for name in names]
    run = replace(make_two_runs()[0], n_items=200)
    run.categories[:] = categories
    table = build_run_table(Overview([run], "alice"), [run], 100, 0)
    assert table.n_hidden_categories == 0
    upper, lower = plain_text(table.upper_heading), plain_text(table.heading)
    assert upper.split() == ["simple_", "live_", "parallel_", "multi_"]
    assert lower.split()[-5:] == ["python", "irrelevance", "multiple", "web", "turn_base"]
    for first, second in (("live_", "irrelevance"), ("multi_", "turn_base")):
        # One title is above the other.
        assert abs(upper.index(first) - lower.index(second)) < len(second)
    assert line_width(table.upper_heading) == line_width(table.heading) <= 100

    short = build_run_table(Overview([run], "alice"), [run], 160, 0)
    assert not short.upper_heading and "simple_python live_irrelevance" in plain_text(short.heading)


def test_number_of_items_is_shown_if_a_run_has_too_few_for_a_ranking() -> None:
    small, large = (
        replace(run, n_items=n) for run, n in zip(make_two_runs(), (29, 30), strict=True)
    )
    headings = []
    for run in (small, large):
        table = build_run_table(Overview([run], "alice"), [run], 78, 0)
        headings.append(plain_text(table.heading).split())
    assert "items" in headings[0][3:] and "items" not in headings[1][3:]


def test_column_of_the_own_metric_keeps_its_place_while_it_is_computed() -> None:
    runs = make_two_runs()
    own = OwnScore("overall accuracy", 0.4, "share", digits=2, table="accuracy", name="overall")
    overview = Overview(runs, "alice", pending_own_metric=own.title)
    waiting = build_run_table(overview, runs, 120, 0)
    scores = {run.run: own for run in runs}
    complete = build_run_table(Overview(runs, "alice", own_scores=scores), runs, 120, 0)
    assert plain_text(waiting.heading) == plain_text(complete.heading)
    assert "overall accuracy" in plain_text(waiting.heading)
    (before, after) = (plain_text(table.lines[0]) for table in (waiting, complete))
    assert "40.00 %" in after and before == after.replace("40.00 %", "      …")


def test_blind_overview_shows_own_progress_only() -> None:
    runs = make_two_runs()
    overview = Overview(
        runs, "alice", blind=True, queues=[QueueProgress("pilot", ShareProgress("alice", 1, 4, 0))]
    )
    table = build_run_table(overview, runs, 100, 0)
    text = "\n".join(
        map(plain_text, (table.heading, *table.lines, *review_progress_lines(overview, 60)))
    )
    assert "%" not in text and "0 of 4" in text and "pilot · alice" in text
    assert [each.action_id for each in list_next_actions(overview)] == [
        "overview.queue",
        "overview.failures",
    ]


def test_reason_has_explanation_code_and_example() -> None:
    groups = failure_groups(("value_error:string", 1204), ("no_such_code", 3))
    lines = [plain_text(line) for line in failure_reason_lines(groups, 70)]
    assert len(lines) == 4
    assert lines[0].startswith("1,204  ━━━━") and lines[0].endswith(
        "String is not an accepted value"
    )
    assert "value_error:string" in lines[1] and 'city  "b" → "a"' in lines[1]
    assert lines[2].startswith("    3  ━───") and lines[2].endswith("no_such_code")
    assert all(line_width(line) <= 40 for line in failure_reason_lines(groups, 40))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('city "a" (golden "b" or "c")', 'city  "b" or "c" → "a"'),
        ("unit missing (golden 3)", "unit  3 → missing"),
        ("verbose true (not in golden)", "verbose  none → true"),
        ("f.g called (golden f.h)", "f.h → f.g"),
        ("f called, not in golden", "none → f"),
        ("f not called", "f → not called"),
        ("prose, not calls",) * 2,
        ("a\x1b[2J b (golden c)", "a␛[2J  c → b"),
    ],
)
def test_example_is_split_into_golden_and_predicted(text: str, shown: str) -> None:
    line = parse_difference_line(text)
    assert plain_text(line) == shown
    assert line_width(shorten_difference_line(line, 12)) <= 12


def test_next_actions_start_with_disagreements() -> None:
    queues = [
        QueueProgress("pilot", ShareProgress("bob", 0, 9, 0)),
        QueueProgress("judge", ShareProgress("alice", 2, 6, 0)),
    ]
    overview = Overview(
        make_two_runs(),
        "alice",
        reasons=failure_groups(("a", 2)),
        queues=queues,
        n_disagreements=8,
        n_suspects=6,
    )
    assert list_next_actions(overview)[4] == NextAction(
        "overview.suspects", "Check 6 suspect golden answers", "weak evidence"
    )
    overview = replace(overview, n_strong_suspects=2)
    assert list_next_actions(overview)[4].facts == "4 weak"
    assert [each.text for each in list_next_actions(overview)] == [
        "Resolve 8 disagreements",
        "Review 4 items of judge",
        "Review 2 failures",
        "Draw a sample",
        "Check 2 suspect golden answers",
        "See how sure the ranking is",
        "Compare two runs",
    ]
    assert (
        format_label_progress(overview) == "2 of 15 labels"
        and format_completed_queues(overview) == "0 of 2 queues complete"
    )
    assert not format_label_progress(
        replace(overview, queues=None)
    ) and not format_completed_queues(replace(overview, queues=[]))
    own = overview.own_unfinished_queue
    assert own is not None and own.queue == "judge"
    drawn = replace(
        overview, sampled_runs=frozenset({1}), estimates={1: PassRateEstimate(0.7, 0.6, 0.8, 64)}
    )
    assert list_next_actions(drawn)[3].text == "See estimated accuracy", (
        "reviews come before more labels"
    )
    complete = replace(drawn, queues=[QueueProgress("pilot", ShareProgress("bob", 9, 9, 0))])
    assert list_next_actions(complete)[2].facts == "64 more labels for ± 2 points"
    assert replace(overview, queues=queues[:1]).own_unfinished_queue is None


def test_ranking_is_suggested_for_runs_of_one_benchmark_with_verdicts() -> None:
    def suggests_ranking(runs: list[RunRow]) -> bool:
        actions = list_next_actions(Overview(runs, "alice"))
        return any(action.action_id == "overview.ranking" for action in actions)

    weak, strong = make_two_runs()
    assert suggests_ranking([weak, strong])
    assert not suggests_ranking([weak])
    other_benchmark = replace(strong, info=replace(strong.info, benchmark="acebench"))
    assert not suggests_ranking([weak, other_benchmark])
    without_verdicts = replace(strong, official_known=0, rule_known=0)
    assert not suggests_ranking([weak, without_verdicts])


def test_complete_blind_queue_suggests_to_end_the_blind_review() -> None:
    share = ShareProgress("alice", 4, 4, 0)
    overview = Overview(
        make_two_runs(),
        "alice",
        blind=True,
        can_end_blind_review=True,
        queues=[QueueProgress("pilot", share)],
    )
    assert list_next_actions(overview)[-1].text == "End the blind review"
    incomplete = replace(overview, queues=[QueueProgress("pilot", replace(share, done=3))])
    assert list_next_actions(incomplete)[-1].text != "End the blind review"
    requested = replace(overview, can_end_blind_review=False)
    assert list_next_actions(requested)[-1].text != "End the blind review"


def test_runs_of_one_model_have_different_names() -> None:
    alike = run_row("maple-8b")
    runs = [
        replace(alike, run=1),
        replace(alike, run=2, info=replace(alike.info, language="zh")),
        replace(alike, run=3, info=replace(alike.info, path="a/2024-07-24/result/maple-8b")),
        replace(alike, run=4, info=replace(alike.info, path="a/2024-07-24/result/maple-8b")),
        run_row("birch", run=5),
    ]
    names = build_run_names({run.run: run.info for run in runs})
    runs = [replace(run, run_name=names[run.run]) for run in runs]
    for cells in (60, 80, 120):
        for lines in (
            build_run_table(Overview(runs, "alice"), runs, cells, 0).lines,
            score_lines(Overview(runs, "a"), runs, cells),
        ):
            assert len({plain_text(line).split("  ")[0] for line in lines}) >= 5
            assert all(line_width(line) <= cells for line in lines)


def test_scores_are_dashes_where_verdicts_are_missing() -> None:
    runs = make_two_runs()
    runs[0] = replace(runs[0], official_known=3)
    estimate = PassRateEstimate(0.75, 0.70, 0.80, 64)
    overview = Overview(runs, "alice", estimates={2: estimate}, sampled_runs=frozenset({1, 2}))
    heading, weak, strong = map(plain_text, score_lines(overview, runs, 90))
    assert "official corrected  estimated items passed" in heading
    assert "–" in weak and weak.rstrip().endswith("…"), "not read yet"
    assert "75.0 %" in strong and "75.0 % [70.0, 80.0]" in strong and "●" in strong
    heading, _, strong = map(plain_text, score_lines(overview, runs, 49))
    assert "corrected" not in heading and strong.endswith("75.0 %  75.0 % [70.0, 80.0]   ")


def test_recomputed_rate_names_its_source() -> None:
    run = replace(run_row("maple-8b"), official_known=0, official_pass=0)
    run = replace(run, rule_known=run.n_items, rule_pass=run.n_items)
    table = build_run_table(Overview([run], "alice"), [run], 120, 0)
    assert "100.0 % recomputed" in plain_text(table.lines[0])
    official = replace(run, official_known=run.n_items, official_pass=0)
    table = build_run_table(Overview([official], "alice"), [official], 120, 0)
    assert "0.0 %" in plain_text(table.lines[0])
    assert "recomputed" not in plain_text(table.lines[0])


def test_long_categories_with_a_common_beginning_have_different_titles() -> None:
    run = run_row("maple-8b")
    run.categories[:] = [
        category_counts(f"normal_multi_turn_user_{each}", 3, 1) for each in ("adjust", "switch")
    ]
    heading = plain_text(build_run_table(Overview([run], "alice"), [run], 120, 0).heading)
    assert "_adjust" in heading and "_switch" in heading


def test_rate_without_incidents_and_missing_items_stand_beside_the_overall_rate() -> None:
    weak, strong = make_two_runs()
    weak = replace(
        weak,
        incidents=1,
        official_pass_without_incidents=1,
        official_known_without_incidents=3,
        not_run=1,
        expected_items=5,
    )
    table = build_run_table(Overview([weak, strong], "ada"), [strong, weak], 80, 0)
    heading, (strong_line, weak_line) = plain_text(table.heading), map(plain_text, table.lines)
    assert "w/o incidents" in heading and "items" in heading
    assert "33.3 % (3)" in weak_line and "4 of 5" in weak_line
    assert "(" not in strong_line
    without = build_run_table(Overview([strong], "ada"), [strong], 80, 0)
    assert "incidents" not in plain_text(without.heading)


def test_run_of_incidents_only_has_no_answers() -> None:
    weak, _ = make_two_runs()
    weak = replace(weak, incidents=4)
    table = build_run_table(Overview([weak], "ada"), [weak], 80, 0)
    assert "no answers" in plain_text(table.lines[0])


@pytest.mark.parametrize("order", ["", "items passed", "official", "corrected"])
@pytest.mark.parametrize(
    "fields", [{"n_items": 200, "expected_items": 400}, {"n_items": 29, "expected_items": 29}]
)
def test_runs_with_few_or_missing_items_do_not_rank_first(
    order: str, fields: dict[str, int]
) -> None:
    weak, strong = make_two_runs()
    weak = replace(weak, n_items=30)
    strong = replace(strong, **fields)
    arrangement = RunArrangement(blind=False, order=order)
    assert [run.info.model for run in arrangement.filter_and_sort_runs([strong, weak])] == [
        "weak",
        "strong",
    ]


def test_benchmarks_own_metric_stands_beside_the_items_passed() -> None:
    runs = make_two_runs()
    own = OwnScore(
        "overall accuracy", value=0.3971, unit="share", digits=2, table="accuracy", name="overall"
    )
    overview = Overview(runs, "ada", own_scores={runs[0].run: own})
    table = build_run_table(overview, runs, 100, 0)
    heading = plain_text(table.heading)
    assert heading.index("overall accuracy") < heading.index("items passed")
    assert "39.71 %" in plain_text(table.lines[0])
    assert "39.71 %" not in plain_text(table.lines[1])
    without = build_run_table(replace(overview, own_scores={}), runs, 100, 0)
    assert "overall accuracy" not in plain_text(without.heading)


@pytest.mark.parametrize(
    ("width", "text"),
    [(140, "without 1 incident 33.3 % (3)"), (75, "w/o 1 incident 33.3 %"), (65, "· 1 incident")],
)
def test_line_above_the_queue_has_the_rate_without_incidents(width: int, text: str) -> None:
    weak, _ = make_two_runs()
    weak = replace(
        weak, incidents=1, official_pass_without_incidents=1, official_known_without_incidents=3
    )
    assert text in plain_text(rates_line([weak], width))


def test_a_range_is_not_called_an_interval() -> None:
    interval = PassRateEstimate(0.75, 0.70, 0.80, needed=64)
    undecided = replace(interval, bounds=(0.6, 0.9), n_undecided=3, is_bounds_headline=True)
    assert name_estimate_kinds([]) == "95 % intervals"
    assert name_estimate_kinds([interval, None]) == "95 % intervals"
    assert name_estimate_kinds([undecided, None]) == "ranges"
    assert name_estimate_kinds([interval, undecided]) == "95 % intervals, ranges"
