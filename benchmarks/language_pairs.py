"""Show why English and Chinese questions of ACEBench are no siblings.

Questions of both languages with the same id are compared by what does not depend on the language:
available functions, functions of the golden answer, and, for agent questions, the sequence of
golden functions with the numbers in their arguments.

Usage: python -m benchmarks.language_pairs FOLDER. FOLDER is `data_all` of the repository, with
`data_en` and `data_zh`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXT_IN_CALL = re.compile(r"'(?:[^']|'(?![,)\]}]))*'|\"[^\"]*\"")
"""A string in a call, also one with an apostrophe."""
FUNCTION = re.compile(r"([A-Za-z_]\w*)\(")
NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.])")
REPEAT = re.compile(r"_[0-9]+$")


@dataclass(frozen=True, slots=True)
class Question:
    record: dict[str, Any]
    answer: dict[str, Any]

    @property
    def function_names(self) -> set[str]:
        return {str(function.get("name")) for function in self.record["function"]}

    @property
    def golden_functions(self) -> list[str]:
        """Names of the golden functions of a question with one turn, sorted."""
        golden = self.answer["ground_truth"]
        if isinstance(golden, list):
            golden = golden[0]
        return sorted(REPEAT.sub("", name) for name in golden) if isinstance(golden, dict) else []

    @property
    def neutral_milestones(self) -> list[str]:
        """Functions and numbers of the golden calls of an agent question."""
        steps = []
        for milestone in flatten(self.answer["mile_stone"]):
            text = TEXT_IN_CALL.sub("", milestone)
            steps += FUNCTION.findall(text) + NUMBER.findall(text)
        return steps


def flatten(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    texts = []
    for element in value:
        texts += flatten(element)
    return texts


def read_questions(folder: Path) -> dict[tuple[str, str], Question]:
    questions = {}
    for path in sorted(folder.glob("data_*.json")):
        answers = {}
        for line in (folder / "possible_answer" / path.name).read_text("utf-8").splitlines():
            answer = json.loads(line)
            answers[answer["id"]] = answer
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            category = path.stem.removeprefix("data_")
            questions[category, record["id"]] = Question(record, answers[record["id"]])
    return questions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    english = read_questions(folder / "data_en")
    chinese = read_questions(folder / "data_zh")

    counts: Counter[str] = Counter()
    for key in english.keys() & chinese.keys():
        first, second = english[key], chinese[key]
        if key[0].startswith("agent"):
            counts["agent"] += 1
            counts["agent, same functions and numbers"] += (
                first.neutral_milestones == second.neutral_milestones
            )
            continue
        counts["normal and special"] += 1
        shared = first.function_names & second.function_names
        counts["normal and special, a shared available function"] += bool(shared)
        counts["normal and special, same golden functions"] += (
            bool(first.golden_functions) and first.golden_functions == second.golden_functions
        )
    print(f"{len(english):,} English and {len(chinese):,} Chinese questions; with the same id:")
    for name, number in sorted(counts.items()):
        print(f"  {name}: {number:,}")


if __name__ == "__main__":
    main()
