"""What the checker takes from the function's document stands in the comparison too."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.checker.evaluate import Reading, Reply, reply_to
from fcreview.importers.bfcl.dataset import Case, golden_calls
from fcreview.importers.bfcl.decoders.registry import BY_NAME
from fcreview.matching.first_difference import argument_rows
from fcreview.tui.item_view.call_diff import absent, why
from tests.importers.bfcl.checker.cases import S, document

PRIMES = document("primes", ["number", "formatted"], number="integer", formatted="boolean")


def read(reply: str, answer: Any, *functions: Any, category: str = "simple_python") -> Reply:
    case = Case("c_0", category, functions=list(functions), answer=answer)
    case.golden = golden_calls(answer, category, "V4", functions)
    return reply_to(case, {"result": reply}, [], Reading("V4", category, BY_NAME["PROMPT"]))


def test_what_the_function_requires_is_missing_though_golden_lets_it_be_left_out() -> None:
    reply = read("[primes(number=450)]", [{"primes": {"number": [450], "formatted": [True, ""]}}], PRIMES)
    assert reply.found.error_type == f"{S}missing_required"
    (pair,) = reply.pairs
    assert pair.state == "!" and [(place.path, place.state) for place in pair.diff] == [("formatted", "-")]


def test_it_is_shown_as_missing_with_the_reason() -> None:
    answer = [{"primes": {"number": [450], "formatted": [True, ""]}}]
    case_golden = golden_calls(answer, "simple_python", "V4", [PRIMES])
    reply = read("[primes(number=450)]", answer, PRIMES)
    rows = argument_rows(case_golden[0], reply.predicted[0], reply.pairs[0].diff)
    row = next(row for row in rows if row.path == "formatted")
    assert absent(row)[1] == "(missing)" and why(row) == ["required by the function, though not by golden"]


def test_golden_arguments_that_the_function_lacks_fail_where_they_are_given() -> None:
    answer = [{"primes": {"number": [450], "bound": [3, ""]}}]
    reply = read("[primes(number=450, formatted=True, bound=3)]", answer, PRIMES)
    assert reply.found.error_type == f"{S}unexpected_param"
    states = {place.path: place.state for place in reply.pairs[0].diff}
    assert states == {"formatted": "+", "bound": "!"}


def test_several_calls_are_each_laid_against_their_own_document() -> None:
    answer = [{"primes": {"number": [1], "formatted": [True, ""]}}, {"ls": {"path": ["."]}}]
    other = document("ls", ["path"], path="string")
    reply = read("[ls(path='.'), primes(number=1)]", answer, PRIMES, other, category="parallel_multiple")
    assert {pair.name: pair.state for pair in reply.pairs} == {"primes": "!", "ls": "="}


def test_what_passes_is_compared_with_the_golden_answer_alone() -> None:
    answer = [{"ls": {"path": [".", ""]}}]
    reply = read("[ls()]", answer, document("ls", path="string"))
    assert reply.found.valid and reply.pairs[0].state == "=" and not reply.pairs[0].diff
