"""Link the tasks of two releases of tau2-bench by their content, and find changed golden actions.

The program reads `tasks.json` of each domain at two commits of a checkout, and groups the tasks as
`suspects --siblings` does, without their ids. Then it counts the groups whose tasks have the same
id, and the groups with different golden actions.

Usage: python -m benchmarks.task_versions CHECKOUT [--old COMMIT] [--new COMMIT]
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.golden_audit.siblings import SiblingQuestion, find_contradictions, group_siblings
from fcreview.importers.tau.read import read_scenario
from fcreview.model.item import AcceptedValues, Call
from fcreview.model.review import QuestionKey

DOMAINS = ("airline", "retail")


@dataclass(frozen=True, slots=True)
class Release:
    version: str
    tasks: dict[str, dict[str, Any]]

    @property
    def ids(self) -> set[str]:
        return set(self.tasks)


def read_release(checkout: Path, commit: str, domain: str, version: str) -> Release:
    path = f"data/tau2/domains/{domain}/tasks.json"
    done = subprocess.run(
        ["git", "-C", checkout, "show", f"{commit}:{path}"], check=True, stdout=subprocess.PIPE
    )
    return Release(version, {str(task["id"]): task for task in json.loads(done.stdout)})


def list_actions(task: dict[str, Any]) -> list[Call]:
    criteria = task.get("evaluation_criteria") or {}
    calls = []
    for index, action in enumerate(criteria.get("actions") or ()):
        arguments = {name: AcceptedValues([value]) for name, value in action["arguments"].items()}
        calls.append(Call("golden", action["name"], arguments=arguments, index=index))
    return calls


def iter_questions(release: Release, domain: str, first_item: int) -> Iterator[SiblingQuestion]:
    for item, (task_id, task) in enumerate(release.tasks.items(), first_item):
        key = QuestionKey("tau", release.version, "en", domain, task_id)
        instruction = read_scenario(task).instruction
        yield SiblingQuestion(key, item, user_text=instruction, golden=list_actions(task))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--old", default="37199f3", help="release of June 2025")
    parser.add_argument("--new", default="v1.0.1")
    arguments = parser.parse_args()

    for domain in DOMAINS:
        old = read_release(arguments.checkout, arguments.old, domain, version="1")
        new = read_release(arguments.checkout, arguments.new, domain, version="2")
        questions = [*iter_questions(old, domain, 0), *iter_questions(new, domain, len(old.tasks))]

        groups = group_siblings(questions)
        n_right = sum(len({question.key.id for question in group}) == 1 for group in groups)
        n_tasks = len(old.ids & new.ids)
        print(f"{domain}: {n_tasks} tasks in both, {len(groups)} linked, {n_right} of them rightly")

        flagged = set()
        for contradiction in find_contradictions(questions):
            flagged |= {key.id for key in contradiction.keys}
        by_key = {question.key: question for question in questions}
        changed = set()
        for task_id in old.ids & new.ids:
            first, second = [
                by_key[QuestionKey("tau", version, "en", domain, task_id)] for version in "12"
            ]
            if first.call_counts != second.call_counts:
                changed.add(task_id)
        print(
            f"{domain}: {len(changed)} tasks with other golden actions, {len(flagged)} flagged,"
            f" {len(flagged & changed)} of them rightly"
        )


if __name__ == "__main__":
    main()
