"""Bombs of the benchmarks whose replies are Python text: BFCL, ACEBench and CONFETTI.

Their files are similar: questions, golden answers, results and scores, a record on each line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_lines

FUNCTION: Json = {
    "name": "f",
    "description": "A function.",
    "parameters": {"type": "dict", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
}
QUESTION = "Call f."


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Where a benchmark has its files, and in which form its golden answers are."""

    name: str
    item: str
    questions: str
    answers: str
    results: str
    scores: str
    parallel_item: str
    parallel_category: str
    category: str
    has_alternatives: bool = True
    """Whether a golden argument is a list of accepted values."""

    def write(self, folder: Path, result: Any, golden: list[Json], **more: Any) -> None:
        """Write one item. `more`: further fields of the question."""
        is_parallel = len(golden) > 1
        item = self.parallel_item if is_parallel else self.item
        names = {"category": self.parallel_category if is_parallel else self.category}
        golden_answer: Any = golden
        if not self.has_alternatives:
            golden_answer = {}
            for number, call in enumerate(golden):
                for name, arguments in call.items():
                    golden_answer[name if number == 0 else f"{name}_{number}"] = arguments

        question: Any = [[{"role": "user", "content": QUESTION}]]
        if self.name == "confetti":
            question = question[0]
        if self.name == "acebench":
            question = f"user: {QUESTION}\n"
        record = {"id": item, "question": question, "function": [FUNCTION], "time": "", **more}
        write_lines(folder / self.questions.format(**names), [record])
        write_lines(
            folder / self.answers.format(**names), [{"id": item, "ground_truth": golden_answer}]
        )
        write_lines(folder / self.results.format(**names), [{"id": item, "result": result}])

    def make_golden(self, size: int = 1) -> list[Json]:
        if self.has_alternatives:
            return [{"f": {"x": [number]}} for number in range(size)]
        return [{"f": {"x": number}} for number in range(size)]

    def deep_argument(self, folder: Path, size: int) -> None:
        self.write(folder, f"[f(x={nest(size)})]", self.make_golden())

    def wide_call(self, folder: Path, size: int) -> None:
        arguments = ", ".join(f"{name}={value}" for name, value in name_values(size).items())
        self.write(folder, f"[f({arguments})]", self.make_golden())

    def wide_golden_answer(self, folder: Path, size: int) -> None:
        golden: Json = {f"a{number}": [number] for number in range(size)}
        if not self.has_alternatives:
            golden = name_values(size)
        self.write(folder, "[f(x=1)]", [{"f": golden}])

    def long_reply(self, folder: Path, size: int) -> None:
        self.write(folder, f"[f(x='{'x' * (size * MEGABYTE)}')]", self.make_golden())

    def many_calls(self, folder: Path, size: int) -> None:
        calls = ", ".join(f"f(x={number})" for number in range(size))
        self.write(folder, f"[{calls}]", self.make_golden(2))

    def many_golden_calls(self, folder: Path, size: int) -> None:
        calls = ", ".join(f"f(x={number + 1})" for number in range(size))
        self.write(folder, f"[{calls}]", self.make_golden(size))

    def many_scores(self, folder: Path, size: int) -> None:
        self.write(folder, "[f(x=1)]", self.make_golden())
        header = {"accuracy": 0.0, "correct_count": 0, "total_count": 1}
        entry = {
            "id": self.item if self.name != "confetti" else 1,
            "valid": False,
            "error": ["wrong value"],
            "error_type": "value_error:others",
            "prompt": {"id": self.item},
        }
        entries = [entry | {"error": [f"wrong value {number}"]} for number in range(size)]
        write_lines(folder / self.scores.format(category=self.category), [header, *entries])

    def repeated_result(self, folder: Path, size: int) -> None:
        self.write(folder, "[f(x=1)]", self.make_golden())
        results = [{"id": self.item, "result": f"[f(x={number})]"} for number in range(size)]
        write_lines(folder / self.results.format(category=self.category), results)

    def make_bombs(self) -> dict[str, Bomb]:
        many = self.parallel_item
        bombs = {
            "deep": Bomb(self.deep_argument, self.item, size=20_000, small_size=5_000),
            "wide": Bomb(self.wide_call, self.item, size=80_000, small_size=0),
            "wide golden answer": Bomb(
                self.wide_golden_answer, self.item, size=80_000, small_size=0
            ),
            "long": Bomb(self.long_reply, self.item, size=2, small_size=0),
            "many calls": Bomb(self.many_calls, many, size=25_000, small_size=0),
            "many scores": Bomb(self.many_scores, self.item, size=10_000, small_size=0),
            "repeated id": Bomb(self.repeated_result, self.item, size=10_000, small_size=0),
        }
        if self.has_alternatives:
            bombs["many golden calls"] = Bomb(
                self.many_golden_calls, many, size=25_000, small_size=1_000
            )
        return bombs


BFCL = Benchmark(
    "bfcl",
    item="simple_python_0",
    parallel_item="parallel_0",
    category="simple_python",
    parallel_category="parallel",
    questions="data/BFCL_v4_{category}.json",
    answers="data/possible_answer/BFCL_v4_{category}.json",
    results="result/maple-8b/non_live/BFCL_v4_{category}_result.json",
    scores="score/maple-8b/non_live/BFCL_v4_{category}_score.json",
)
ACEBENCH = Benchmark(
    "acebench",
    item="normal_single_turn_single_function_0",
    parallel_item="normal_single_turn_parallel_function_0",
    category="normal_single_turn_single_function",
    parallel_category="normal_single_turn_parallel_function",
    questions="data_all/data_en/data_{category}.json",
    answers="data_all/data_en/possible_answer/data_{category}.json",
    results="result_all/result_en/maple-8b/data_{category}_result.json",
    scores="score_all/score_en/maple-8b/data_{category}_score.json",
    has_alternatives=False,
)
CONFETTI = Benchmark(
    "confetti",
    item="conversationsclean_0",
    parallel_item="conversationsclean_0",
    category="conversationsclean",
    parallel_category="conversationsclean",
    questions="data/BFCL_v2_{category}.json",
    answers="data/possible_answer/BFCL_v2_{category}.json",
    results="result/maple-8b/BFCL_v2_{category}_result.json",
    scores="score/maple-8b/BFCL_v2_{category}_score.json",
)
