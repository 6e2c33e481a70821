from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from fcreview.golden_audit.evidence import (
    RunWeigher,
    collect_evidence,
    compute_failure_bits,
    create_cached_schema_reader,
)
from fcreview.golden_audit.golden_checks import GoldenAnswerIndex
from fcreview.golden_audit.question import (
    AnswerDifference,
    AuditedQuestion,
    Reason,
    find_model_family,
)
from fcreview.golden_audit.score import (
    MIN_CONVENTION_ITEMS,
    PRIOR_REVIEWS,
    REASON_CHANCES,
    find_explained_failures,
    find_reasons_from_runs,
    is_benchmark_at_fault,
    rank_suspects,
    score_suspect,
    sum_win_weights,
    update_reason_chances,
)
from fcreview.model.item import AcceptedValues
from tests.golden_audit.cases import (
    ModelAnswer,
    make_empty_index,
    make_evidence,
    make_golden,
    make_profiles,
    make_question,
    make_schema,
    select_kind,
)

DEFAULT = make_schema(unit="Default is 'km'.", place="Where.")


def make_suspect_question(number: int, faults: dict[str, int] | None = None) -> AuditedQuestion:
    """Return a question whose golden answer requires a default."""
    return make_question(
        [make_golden(unit=["km"])],
        [DEFAULT],
        question=f"Question {number} on km",
        number=number,
        faults=faults,
    )


def make_plain_question(number: int) -> AuditedQuestion:
    return make_question(
        [make_golden(place=["Oslo"])],
        [DEFAULT],
        question=f"Question {number} on Oslo",
        number=number,
    )


def test_all_questions_are_ranked_by_score() -> None:
    agreed = make_question(
        [make_golden(unit=["km"])],
        [DEFAULT],
        [ModelAnswer(range(6), {"unit": "mile"})],
        question="km",
        number=2,
    )
    found = rank_suspects(
        [make_plain_question(0), make_suspect_question(1), agreed], make_profiles()
    )
    assert [each.question.key.id for each in found] == ["simple_2", "simple_1", "simple_0"]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert 0 == found[2].score < found[1].score < found[0].score < 1
    assert not found[2].reasons


def test_score_combines_the_strongest_reason_of_each_kind() -> None:
    reasons = [
        Reason("default", strength=1.0, text="a"),
        Reason("default", strength=0.5, text="b"),
        Reason("loose", strength=0.5, text="c"),
    ]
    made = score_suspect(make_plain_question(0), reasons, {"default": 0.5, "loose": 0.4})
    assert made.score == pytest.approx(1 - 0.5 * 0.8)
    assert [reason.text for reason in made.reasons] == ["a", "b", "c"]


def test_failures_alone_are_no_strong_suspicion() -> None:
    reasons = [
        Reason("failing", strength=1.0, text="a"),
        Reason("reversed", strength=1.0, text="b"),
    ]
    assert not score_suspect(make_plain_question(0), reasons, REASON_CHANCES).is_strong
    assert score_suspect(
        make_plain_question(0), [Reason("default", strength=1.0, text="c")], REASON_CHANCES
    ).is_strong


def test_alternative_is_preferably_an_answer_of_models() -> None:
    answers = [ModelAnswer([0, 2, 3], {"unit": "mile"})]
    (found,) = rank_suspects(
        [make_question([make_golden(unit=["km"])], [DEFAULT], answers, question="km")],
        make_profiles(),
    )
    assert found.alternative is not None
    assert found.alternative.answer == 'unit: "mile"'
    (alone,) = rank_suspects([make_suspect_question(0)], make_profiles())
    assert alone.alternative is not None
    assert (alone.alternative.answer, alone.alternative.models) == ("without unit", ())


def test_reviewed_faults_change_scores_of_items_with_the_same_reason() -> None:
    def compute_score(faults: dict[str, int] | None) -> float:
        found = rank_suspects(
            [*(make_suspect_question(n, faults) for n in range(4)), make_suspect_question(9)],
            make_profiles(),
        )
        return next(each.score for each in found if each.question.key.id == "simple_9")

    assert compute_score({"model": 1}) < compute_score(None) < compute_score({"golden": 1})
    assert compute_score(None) == pytest.approx(REASON_CHANCES["default"])
    assert compute_score({"golden": 1}) == pytest.approx(
        (PRIOR_REVIEWS * REASON_CHANCES["default"] + 4) / (PRIOR_REVIEWS + 4)
    )
    assert compute_score({"judge": 1}) == compute_score(None)


def test_reviewed_faults_do_not_change_other_kinds() -> None:
    chances = update_reason_chances(
        {"default": 0.5, "loose": 0.4},
        [(make_suspect_question(0, {"golden": 2}), [Reason("default", strength=1.0, text="a")])],
    )
    assert chances == {
        "default": pytest.approx((PRIOR_REVIEWS * 0.5 + 1) / (PRIOR_REVIEWS + 1)),
        "loose": pytest.approx(0.4),
    }


@pytest.mark.parametrize(
    ("faults", "verdict"),
    [
        ({}, None),
        ({"model": 2}, False),
        ({"golden": 1}, True),
        ({"checker": 1}, True),
        ({"question": 1}, True),
        ({"model": 3, "golden": 1}, True),
        ({"judge": 1}, None),
    ],
)
def test_one_run_with_benchmark_at_fault_is_enough(
    faults: dict[str, int], verdict: bool | None
) -> None:
    assert is_benchmark_at_fault(make_suspect_question(0, faults)) is verdict


def test_reviewed_fault_is_the_first_reason_and_changes_the_rank() -> None:
    (right, open_, wrong) = rank_suspects(
        [
            make_suspect_question(0, {"golden": 1}),
            make_suspect_question(1, {"model": 1}),
            make_suspect_question(2),
        ],
        make_profiles(),
    )
    assert [each.question.key.id for each in (right, open_, wrong)] == [
        "simple_0",
        "simple_2",
        "simple_1",
    ]
    assert right.reasons[0].text == "reviewed: annotators decided that the benchmark is at fault"


def test_convention_of_a_whole_dataset_lowers_the_score() -> None:
    everywhere = [make_suspect_question(n) for n in range(2 * MIN_CONVENTION_ITEMS)]
    here_and_there = [make_suspect_question(n) for n in range(MIN_CONVENTION_ITEMS)] + [
        make_plain_question(n) for n in range(MIN_CONVENTION_ITEMS, 20 * MIN_CONVENTION_ITEMS)
    ]
    assert rank_suspects(everywhere, make_profiles())[0].score == pytest.approx(
        REASON_CHANCES["default"] / 10
    )
    assert rank_suspects(here_and_there, make_profiles())[0].score == pytest.approx(
        REASON_CHANCES["default"]
    )


def test_strange_data_is_ranked_without_errors() -> None:
    deep: list[object] = []
    for _ in range(90):
        deep = [deep]
    strange = [
        make_question([], []),
        make_question(
            [make_golden(x=[deep, {"a": [deep]}, None, 10**18, "\x1b[2J" * 500])],
            [DEFAULT, {}, {"name": []}],
            [
                ModelAnswer([0, 2], {"x": deep, "y": "…" * 5000}),
                ModelAnswer([3], None),
                ModelAnswer([99], {"x": 1}),
            ],
        ),
        make_question(
            [make_golden("f", **{"": [""]})],
            [{"name": "f", "parameters": {"properties": {"": {"enum": [[1], {}]}}}}],
        ),
    ]
    assert len(rank_suspects(strange, make_profiles())) == 3
    assert len(rank_suspects(strange, {})) == 3


UNIT = make_schema(unit="Unit.")
WANTED = [make_golden(unit=["mile"])]


def reason_strength(
    answers: list[ModelAnswer], kind: str = "agreement", rates: tuple[float, ...] = (0.9,) * 6
) -> float:
    found = select_kind(
        find_reasons_from_runs(make_evidence(make_question(WANTED, [UNIT], answers), rates)), kind
    )
    return found[0].strength if found else 0.0


def test_models_of_one_family_count_once() -> None:
    both = ModelAnswer([0, 1], {"unit": "km"})
    assert reason_strength([both, ModelAnswer([2, 3, 4, 5], passed=True)]) == 0
    independent = ModelAnswer([0, 2], {"unit": "km"})
    assert reason_strength([independent, ModelAnswer([1, 3, 4, 5], passed=True)]) > 0


def test_more_agreeing_families_are_stronger_evidence() -> None:
    few = reason_strength(
        [ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3, 4, 5], passed=True)]
    )
    many = reason_strength(
        [ModelAnswer([0, 2, 3, 4], {"unit": "km"}), ModelAnswer([5], passed=True)]
    )
    assert 0 < few < many < 1


def test_different_answers_do_not_agree() -> None:
    assert reason_strength([ModelAnswer([run], {"unit": f"unit {run}"}) for run in range(6)]) == 0


def test_spaces_and_case_do_not_separate_answers() -> None:
    assert (
        reason_strength([ModelAnswer([0], {"unit": "K m"}), ModelAnswer([2], {"unit": "km"})]) > 0
    )


def test_failures_of_weak_runs_are_weak_evidence() -> None:
    answers = [ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3, 4, 5], passed=True)]
    weak = reason_strength(answers, rates=(0.1, 0.9, 0.1, 0.9, 0.9, 0.9))
    strong = reason_strength(answers, rates=(0.9,) * 6)
    assert weak < strong / 5


def test_weight_of_a_failure_is_its_information() -> None:
    assert compute_failure_bits(0.5) == pytest.approx(1)
    assert compute_failure_bits(0.75) == pytest.approx(2)
    made = make_question(WANTED, [UNIT], [ModelAnswer([0, 1, 2], {"unit": "km"})])
    bits = (
        RunWeigher(make_profiles((0.75, 0.5, 0.5, 0.5, 0.5, 0.5))).compute_weights(made).bits_by_run
    )
    # The two models of one family count half.
    assert bits == pytest.approx({0: 1.0, 1: 0.5, 2: 1.0})


def test_unreadable_answers_do_not_count() -> None:
    assert (
        reason_strength([ModelAnswer([0, 2, 3, 4], None)])
        == reason_strength([ModelAnswer([0, 2, 3, 4], None)], "failing")
        == 0
    )


def test_reason_names_answer_models_and_golden_value() -> None:
    made = make_question(
        WANTED, [UNIT], [ModelAnswer([0, 1, 2], {"unit": "km"}), ModelAnswer([3], passed=True)]
    )
    (reason,) = select_kind(find_reasons_from_runs(make_evidence(made)), "agreement")
    assert (
        reason.text == 'models agree: unit: "km", golden "mile" (2 of 3 model families, 3 models)'
    )
    assert reason.alternative is not None
    assert reason.alternative.models == ("claude-3", "gpt-4", "gpt-4o")
    assert reason.alternative.families == ("claude", "gpt")


LONG_TEXT = "a" * 90
END = "a" * 20


@pytest.mark.parametrize(
    ("golden", "predicted", "text"),
    [
        (["a", "b"], "['a', 'b']", """golden ["a", "b"], type differs: string instead of list"""),
        (42, "42", "golden 42, type differs: string instead of integer"),
        ("Oslo", "Osl\u043e", "texts look alike: U+043E CYRILLIC SMALL LETTER O instead of"),
        (LONG_TEXT + "x", LONG_TEXT + "y", f'keys: …{END}y", golden …{END}x" ('),
        ("km", "mile", 'keys: "mile", golden "km" ('),
    ],
)
def test_values_that_look_alike_have_their_difference_beside_them(
    golden: Any, predicted: Any, text: str
) -> None:
    answer = ModelAnswer([0, 1, 2], {"keys": predicted})
    audited = make_question(
        [make_golden(keys=[golden])],
        [make_schema(keys="Keys.")],
        [answer, ModelAnswer([3], passed=True)],
    )
    (reason,) = select_kind(find_reasons_from_runs(make_evidence(audited)), "agreement")
    assert text in reason.text


def test_equal_texts_have_the_reason_of_the_benchmark() -> None:
    """BFCL wants Java values as source text, so that a list is wrong although it looks right."""
    difference = AnswerDifference(
        turn=0,
        golden_index=0,
        function="f",
        path="keys",
        state="!",
        predicted=["a"],
        golden=AcceptedValues([["a"]]),
        reason='["a"] is not a string with Java code',
    )
    assert difference.hidden_difference == "not a string with Java code"


def test_only_reversed_order_of_runs_is_a_reason() -> None:
    answers = [
        ModelAnswer([0, 2, 3], {"unit": "km"}),
        ModelAnswer([1, 4, 5], {"unit": "mile"}, passed=True),
    ]
    assert reason_strength(answers, "reversed", (0.9, 0.3, 0.9, 0.9, 0.3, 0.3)) == pytest.approx(1)
    assert reason_strength(answers, "reversed", (0.3, 0.9, 0.3, 0.3, 0.9, 0.9)) == 0
    assert reason_strength(answers, "reversed") == 0


def test_difference_that_passes_in_another_run_is_no_reason() -> None:
    answers = [ModelAnswer([0, 2], {"unit": "km"}), ModelAnswer([3], {"unit": "km"}, passed=True)]
    assert reason_strength(answers) == reason_strength(answers, "failing") == 0


def test_contradicted_verdict_is_a_reason() -> None:
    answers = [
        ModelAnswer([0], {"unit": "km"}, contradicted=True),
        ModelAnswer([2], {"unit": "mile"}, passed=True),
    ]
    assert reason_strength(answers, "contradiction") == pytest.approx(0.5)
    assert reason_strength([ModelAnswer([0], {"unit": "km"})], "contradiction") == 0


def test_sum_of_wins_needs_few_comparisons() -> None:
    class CountedRate(float):
        calls: ClassVar[Counter[str]] = Counter()

        def __lt__(self, other: float) -> bool:
            CountedRate.calls["<"] += 1
            return super().__lt__(other)

    draw = random.Random(1)
    ones, others = (
        [(CountedRate(draw.randint(0, 20) / 20), draw.random()) for _ in range(300)]
        for _ in range(2)
    )
    found = sum_win_weights(ones, others)
    assert CountedRate.calls["<"] < 10_000
    pairs = [(a, b, weight * other) for a, weight in ones for b, other in others]
    assert found == pytest.approx(
        sum(product * (1.0 if a > b else 0.5 if a == b else 0) for a, b, product in pairs)
    )


def test_reason_states_pass_rate_of_best_failing_run() -> None:
    profiles = make_profiles()
    profiles[0] = replace(profiles[0], n_passed=1, n_verdicts=6)
    made = make_question(
        WANTED, [UNIT], [ModelAnswer([0], {"unit": "km"}), ModelAnswer([2], passed=True)]
    )
    evidence = collect_evidence(made, RunWeigher(profiles), create_cached_schema_reader())
    (reason,) = select_kind(find_reasons_from_runs(evidence), "failing")
    assert (
        reason.text
        == "models fail: 1 of 2 decoded answers fails, including gpt-4, which passes 1 of 6 items"
    )


DOCUMENT = make_schema(
    unit="Unit, default is 'km'.",
    place="Where.",
    amount={"type": "float"},
    round={"type": "integer", "default": 2},
)


def explain(
    wanted: dict[str, list[Any]], given: dict[str, Any], siblings: GoldenAnswerIndex | None = None
) -> str:
    made = make_question([make_golden(**wanted)], [DOCUMENT], [ModelAnswer([0, 2], given)])
    return " ".join(
        reason.text
        for reason in find_explained_failures(make_evidence(made), siblings or make_empty_index())
    )


@pytest.mark.parametrize(
    ("accepted", "given", "word"),
    [
        ("x^2 + 1", "x**2+1", "same formula"),
        ("3x^2", "3 * x ** 2", "same formula"),
        ("lambda x: x**2", "x^2", "same formula"),
        ("x^(n) + 1", "x**n + 1", "same formula"),
        ("San Francisco, CA", "CA", "shorter form"),
        ("San Francisco, CA", "San Francisco", "shorter form"),
        ("New York City", "NYC", "shorter form"),
        ("kilometers", "km", "same unit, written differently"),
        ("2020-01-31", "January 31, 2020", "same date"),
        ("2020-01-31", "01/31/2020", "same date"),
        ("Café", "cafe", "same text except for case"),
        ("prediction", "predictions", "same words in another form"),
        (5, "5", "same number"),
        ("5,000", "5000.0", "same number"),
        (0.05, 5, "as a percentage"),
        ([1.0, 2.0], [1, 2], "as integers or floats"),
        (["a", "b"], ["b", "a"], "another order"),
        (["a"], "a", "with or without a list"),
        (True, "true", "as a string"),
    ],
)
def test_notation_explains_a_failure(accepted: Any, given: Any, word: str) -> None:
    assert word in explain({"place": [accepted]}, {"place": given})


@pytest.mark.parametrize(
    ("accepted", "given"),
    [
        ("Rome", "Oslo"),
        (5, 6),
        ("x^2", "x^3"),
        ("2020-01-31", "2020-02-01"),
        ("km", "mile"),
        ([1, 2], [1, 3]),
        (0, 1),
    ],
)
def test_different_value_is_not_explained(accepted: Any, given: Any) -> None:
    assert explain({"place": [accepted]}, {"place": given}) == ""


def test_default_explains_a_failure() -> None:
    assert "default" in explain({"unit": ["km"]}, {})
    assert "default" in explain({"place": ["Oslo"]}, {"place": "Oslo", "round": 2})
    assert explain({"unit": ["mile"]}, {}) == ""
    assert explain({"place": ["Oslo"]}, {"place": "Oslo", "round": 3}) == ""


def test_answer_with_a_real_difference_is_not_explained() -> None:
    assert explain({"unit": ["km"], "place": ["Oslo"]}, {"place": "Rome"}) == ""


def test_value_accepted_by_another_item_explains_a_failure() -> None:
    other = make_question([make_golden(place=["the Bay", "Frisco"])], [DOCUMENT], number=7)
    assert "simple_7 accepts" in explain(
        {"place": ["the Bay"]}, {"place": "Frisco"}, GoldenAnswerIndex([other])
    )
    assert explain({"unit": ["the Bay"]}, {"unit": "Frisco"}, GoldenAnswerIndex([other])) == ""


FAMILIES = {
    "gpt": ("gpt-4o-2024-08-06-FC", "o1-2024-12-17", "chatgpt-4o-latest"),
    "claude": ("claude-3-opus-20240229",),
    "gemini": ("gemini-1.5-flash-002", "google_gemma-7b-it"),
    "llama": ("meta-llama_Meta-Llama-3-70B-Instruct", "meta-llama/Llama-3.1-8B-Instruct-FC"),
    "mistral": ("open-mixtral-8x7b", "mistral-large-2407-FC-Auto"),
    "qwen": ("Qwen_Qwen2.5-7B-Instruct",),
    "cohere": ("command-r-plus-FC",),
    "xlam": ("Salesforce_xLAM-7b-fc-r",),
    "gorilla": ("gorilla-openfunctions-v2",),
    "glm": ("THUDM_glm-4-9b-chat",),
    "maple": ("maple-8b",),
    "unnamed": ("",),
    "42": ("42",),
}


@pytest.mark.parametrize(
    ("name", "model"), [(name, model) for name, models in FAMILIES.items() for model in models]
)
def test_family_is_read_from_model_name(model: str, name: str) -> None:
    assert find_model_family(model) == name
