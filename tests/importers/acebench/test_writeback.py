"""Score files and verdicts of golden fixes follow the version of the rules with which a run was
scored.
"""

from __future__ import annotations

import pytest

from fcreview.importers.acebench.decoding import AUGUST_2025, OCTOBER_2025
from fcreview.importers.acebench.writeback import recompute_verdict, rewrite_scores
from fcreview.importers.registry import discover
from fcreview.model.item import Item, Run, RunFact
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RewrittenFile
from tests.importers.acebench.conftest import FUNCTION, SINGLE, RunWriter, make_failure

WORDY = "Sure: [find(place='Rome')]"
SPACED = "[find( place='Rome' )]"


@pytest.mark.parametrize(
    ("quoted", "written"),
    [
        ("[find(place='New York')]", SPACED),  # October
        ("[find(place='NewYork')]", "[find(place='Rome')]"),  # August
    ],
)
def test_new_failure_quotes_reply_as_evaluator(
    run_writer: RunWriter, quoted: str, written: str
) -> None:
    run_writer.write_dataset(SINGLE, [{"find": {"place": "Bonn"}}, {"find": {"place": "Rome"}}])
    run_writer.write_results(SINGLE, ["[find(place='New York')]", SPACED])
    run_writer.write_scores(
        SINGLE, [make_failure(SINGLE, 0, "value_error:string", quoted)], total=2
    )
    (plan,) = discover([run_writer.root]).plans
    items = [
        ScoredItem(f"{SINGLE}_0", SINGLE, None, False),
        ScoredItem(f"{SINGLE}_1", SINGLE, None, True, overrides={("item", "correct"): False}),
    ]
    (file,) = [each for each in rewrite_scores(plan, items) if isinstance(each, RewrittenFile)]
    assert f'"model_result": "{written}"' in file.content.decode()


@pytest.mark.parametrize(("rule_set", "verdict"), [(OCTOBER_2025, True), (AUGUST_2025, False)])
def test_golden_fix_is_judged_by_rules_of_run(rule_set: str, verdict: bool) -> None:
    run = Run(
        "acebench", "v1", "en", "m", "/m", facts={"evaluator": RunFact("evaluator", rule_set)}
    )
    item = Item(f"{SINGLE}_0", SINGLE, functions=[FUNCTION])
    golden_fix = {"ground_truth": {"find": {"place": "Rome"}}}
    assert recompute_verdict(run, item, golden_fix, {"result": WORDY}) is verdict
