"""Write the text of a pull request, and of the issue before it.

All text from data is in code blocks or code spans, so that it cannot contain Markdown markup.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fcreview.exporters.golden_patch import UNANIMOUS_TEXT, ResolvedFix
from fcreview.exporters.report_pages import format_code_block, format_code_span, format_titled_block
from fcreview.exporters.upstream.evidence import Annotation, UpstreamEvidence
from fcreview.exporters.upstream.repositories import BfclRepository, Tau2Repository, sanitize_line
from fcreview.golden_audit.siblings import count_calls
from fcreview.model.item import SIMULATED_USER_INSTRUCTION
from fcreview.model.wording import format_count
from fcreview.run_plan import GoldenExecution

MAX_LISTED_RUNS = 12
MAX_OUTPUT_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Datapoint:
    """A corrected golden answer in the repository, with everything that its text needs."""

    name: str
    """Id of the record."""
    path: str
    link: str
    commit: str
    old: Any
    """The changed part of the record as it is: the whole record, or the changed fields."""
    new: Any
    fix: ResolvedFix
    evidence: UpstreamEvidence
    execution: GoldenExecution | None = None
    copies: Sequence[str] = field(default_factory=tuple)
    """Other files with the same golden answer, which the patch corrects, too."""

    @property
    def question(self) -> str:
        """What the user wants. What a simulated user writes is not part of the task, so its
        instruction counts.
        """
        item = self.fix.detail.item
        for message in item.messages:
            if message.name == SIMULATED_USER_INSTRUCTION:
                return message.content
        user_messages = [each.content for each in item.messages if each.role == "user"]
        return "\n\n".join(user_messages) or item.question

    @property
    def reasons(self) -> list[str]:
        """What annotators noted, each text once."""
        texts = [text for each in self.evidence.annotations for text in each.texts]
        return list(dict.fromkeys(texts))


def format_bfcl_pull_request(repository: BfclRepository, datapoints: Sequence[Datapoint]) -> str:
    """Return the text in the form of the repository's issue template, with the evidence below."""
    names = [datapoint.name for datapoint in datapoints]
    lines = [
        f"Corrects the ground truth of {_list_names(names)}. No other data changes.",
        "",
    ]
    for datapoint in datapoints:
        lines += _format_datapoint(datapoint)
        lines += format_titled_block("Proposed Changes", _format_proposed_change(datapoint))

    lines += [
        "## CHANGELOG",
        "",
        f"Line for `{repository.changelog}`. Replace NUMBER by the number of this pull request.",
        "",
        *format_code_block(_format_changelog_entry(repository, names)),
        "",
    ]
    lines += _format_evidence_sections(datapoints)
    return "\n".join(lines)


def _format_changelog_entry(repository: BfclRepository, names: Sequence[str]) -> str:
    today = datetime.now(UTC)
    pull_request = f"[#NUMBER]({repository.url}/pull/NUMBER)"
    return (
        f"- [{today:%b} {today.day}, {today.year}] {pull_request}:"
        f" Fix ground truth for {_list_names(names)}."
    )


def _format_proposed_change(datapoint: Datapoint) -> list[str]:
    """Return the lines with the old and the new record, as the issue template wants them. Each
    record is one line, as in the dataset.
    """
    lines = [
        "{",
        '  "previous_datapoint": [',
        f"    {json.dumps(datapoint.old, ensure_ascii=False)}",
        "  ],",
        '  "updated_datapoint": [',
        f"    {json.dumps(datapoint.new, ensure_ascii=False)}",
        "  ]",
        "}",
    ]
    return format_code_block("\n".join(lines), "json")


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(format_code_span(name) for name in names)


def _format_datapoint(datapoint: Datapoint) -> Iterator[str]:
    """Yield the link to a record, the commit, the question, and what is wrong."""
    yield f"## {format_code_span(datapoint.name)}"
    yield ""
    yield f"1. Datapoint permalink: {datapoint.link}"
    yield "2. Issue: the ground truth is wrong"
    yield f"3. Gorilla repo commit #: {datapoint.commit}"
    yield ""
    yield from _format_problem(datapoint)


def _format_problem(datapoint: Datapoint) -> Iterator[str]:
    problem = format_code_block("\n\n".join(datapoint.reasons) or "See the evidence below.")
    yield from format_titled_block("What is the issue", problem)
    yield from format_titled_block("Question", format_code_block(datapoint.question))


def format_json_block(value: Any) -> list[str]:
    return format_code_block(json.dumps(value, ensure_ascii=False, indent=2), "json")


def format_acebench_pull_request(datapoints: Sequence[Datapoint]) -> str:
    """Return the text of a pull request: each record before and after, and the evidence."""
    names = [datapoint.name for datapoint in datapoints]
    lines = [f"Corrects the ground truth of {_list_names(names)}. No other data changes.", ""]
    for datapoint in datapoints:
        lines += [f"## {format_code_span(datapoint.name)}", "", datapoint.link, ""]
        lines += _format_problem(datapoint)
        lines += format_titled_block("Current record", format_json_block(datapoint.old))
        lines += format_titled_block("Corrected record", format_json_block(datapoint.new))
    lines += _format_evidence_sections(datapoints)
    return "\n".join(lines)


def format_tau2_pull_request(repository: Tau2Repository, datapoints: Sequence[Datapoint]) -> str:
    """Return the text with the sections of the repository's template."""
    lines = [
        "## Summary",
        "",
        f"Corrects the evaluation criteria of {_list_tasks(datapoints)}.",
        "",
        "## Changes Made",
        "",
        *_list_tau2_changes(datapoints),
        "",
        "No other task changes.",
        "",
    ]
    for datapoint in datapoints:
        lines += _format_tau2_task(datapoint)

    lines += [
        "## Testing",
        "",
        "`git apply` applies the patch to the commit in the links, and each file is valid JSON"
        " before and after it. The corrections change no golden action or assertion that the"
        " evaluator executes, so the final database states stay the same.",
        "",
        "## Documentation",
        "",
        f"Line for the section Fixed of `{repository.changelog}`:",
        "",
        *format_code_block(f"- Corrected the evaluation criteria of {_name_tasks(datapoints)}"),
        "",
    ]
    lines += _format_evidence_sections(datapoints)
    return "\n".join(lines)


def _list_tau2_changes(datapoints: Sequence[Datapoint]) -> Iterator[str]:
    """Yield the changed fields of each task, and the other files that repeat the task."""
    for datapoint in datapoints:
        fields = ", ".join(format_code_span(name) for name in datapoint.new)
        yield f"- task {format_code_span(datapoint.name)}: {fields} in {datapoint.link}"
        for copy in datapoint.copies:
            yield f"  - the same in {format_code_span(copy)}"


def _format_tau2_task(datapoint: Datapoint) -> Iterator[str]:
    yield f"### Task {format_code_span(datapoint.name)}"
    yield ""
    yield from _format_problem(datapoint)
    yield from format_titled_block("Current criteria", format_json_block(datapoint.old))
    yield from format_titled_block("Corrected criteria", format_json_block(datapoint.new))


def _list_tasks(datapoints: Sequence[Datapoint]) -> str:
    noun = "task" if len(datapoints) == 1 else "tasks"
    return f"{noun} {_list_names([datapoint.name for datapoint in datapoints])}"


def _name_tasks(datapoints: Sequence[Datapoint]) -> str:
    tasks = []
    for datapoint in datapoints:
        domain = datapoint.path.split("/")[3]
        tasks.append(f"`{domain}` task {sanitize_line(datapoint.name)}")
    return ", ".join(tasks)


def format_tau2_issue(datapoints: Sequence[Datapoint]) -> str:
    """Return the text of the issue that the contributing guide wants before a pull request."""
    lines = [
        "**Problem/Goal**",
        "",
        f"The evaluation criteria of {_list_tasks(datapoints)} are wrong:",
        "",
    ]
    for datapoint in datapoints:
        lines.append(f"- task {format_code_span(datapoint.name)}: {datapoint.link}")
    lines.append("")
    for datapoint in datapoints:
        lines += _format_tau2_task(datapoint)

    files = ", ".join(format_code_span(path) for path in _list_changed_files(datapoints))
    lines += [
        "**Proposed Solution**",
        "",
        "Apply the corrected criteria above. A pull request with only these changes is ready.",
        "",
        "**Impact**",
        "",
        f"{files}. Results that embed the old tasks keep their"
        " rewards; `tau2 evaluate-trajs --fresh-tasks` computes the new ones.",
        "",
        "**Timeline**: ready. **Dependencies**: none.",
        "",
    ]
    lines += _format_evidence_sections(datapoints)
    return "\n".join(lines)


def _list_changed_files(datapoints: Sequence[Datapoint]) -> list[str]:
    """Return the changed files of the repository. Some are copies of others, and change too."""
    changed_files: set[str] = set()
    for datapoint in datapoints:
        changed_files.add(datapoint.path)
        changed_files.update(datapoint.copies)
    return sorted(changed_files)


def _format_evidence_sections(datapoints: Sequence[Datapoint]) -> Iterator[str]:
    """Yield the evidence for all datapoints, with the siblings that this patch corrects marked."""
    yield "## Evidence"
    yield ""
    corrected_names = {datapoint.name for datapoint in datapoints}
    for datapoint in datapoints:
        yield f"### Evidence for {format_code_span(datapoint.name)}"
        yield ""
        for fact in _list_facts(datapoint, corrected_names):
            yield f"- {fact}"
        yield ""
        if datapoint.execution is not None:
            yield from _format_execution(datapoint.execution)


def _list_facts(datapoint: Datapoint, corrected_names: Iterable[str]) -> Iterator[str]:
    """Yield the facts that show that the golden answer is wrong: runs, judges, annotators and
    siblings.
    """
    evidence = datapoint.evidence
    yield from _list_run_facts(evidence)
    for judge in evidence.judges:
        yield (
            f"Judge {format_code_span(judge.judge)}: {judge.n_passing} of"
            f" {format_count(judge.n_answers, 'answer')} pass"
        )
    yield f"Decision: {_describe_decision(evidence)}"
    for annotation in evidence.annotations:
        yield _describe_annotation(annotation)
    for reason in evidence.suspect_reasons:
        yield f"Why the current answer looks wrong: {format_code_span(reason)}"
    if evidence.alternative:
        yield f"Answer of models: {format_code_span(evidence.alternative)}"
    yield from _list_sibling_facts(datapoint, corrected_names)


def _describe_decision(evidence: UpstreamEvidence) -> str:
    """Say who decided on the correction. A single annotator agrees with nobody else."""
    names = _list_names(evidence.authors)
    if len(evidence.authors) == 1 and evidence.resolution == UNANIMOUS_TEXT:
        return f"by one annotator, {names}"
    return f"{evidence.resolution}: {names}"


def _list_run_facts(evidence: UpstreamEvidence) -> Iterator[str]:
    """Say how many runs pass now, and which ones would pass or fail with the corrected answer."""
    n_answers = format_count(evidence.n_runs, "answer")
    verb = "passes" if evidence.n_runs == 1 else "pass"
    yield f"{evidence.n_passing_before} of {n_answers} {verb} with the current golden answer"
    if not evidence.n_rescored:
        return
    n_more = len(evidence.newly_passing)
    text = f"{format_count(n_more, 'more run')} would pass with the corrected golden answer"
    if evidence.newly_passing:
        text += f": {_list_first_runs(evidence.newly_passing)}"
    yield text
    if evidence.newly_failing:
        n_fewer = format_count(len(evidence.newly_failing), "run")
        yield f"{n_fewer} would fail: {_list_first_runs(evidence.newly_failing)}"


def _list_first_runs(names: Sequence[str]) -> str:
    text = _list_names(names[:MAX_LISTED_RUNS])
    n_more = len(names) - MAX_LISTED_RUNS
    return f"{text} and {n_more} more" if n_more > 0 else text


def _describe_annotation(annotation: Annotation) -> str:
    """Describe a review as `Annotator NAME, verdict fail, fault golden`."""
    parts = [f"Annotator {format_code_span(annotation.annotator)}"]
    if annotation.verdict:
        parts.append(f"verdict {format_code_span(annotation.verdict)}")
    if annotation.fault:
        parts.append(f"fault {format_code_span(annotation.fault)}")
    if len(parts) == 1:
        parts.append("no verdict on the answer of the model")
    return ", ".join(parts)


def _list_sibling_facts(datapoint: Datapoint, corrected_names: Iterable[str]) -> Iterator[str]:
    """Say for each sibling whether it has the corrected golden calls."""
    corrected_calls = count_calls(datapoint.fix.new_calls)
    for sibling in datapoint.evidence.siblings:
        name = format_code_span(sibling.key.id)
        if sibling.key.id in corrected_names:
            yield f"Sibling {name}: corrected in this pull request"
        elif corrected_calls and sibling.call_counts == corrected_calls:
            yield f"Sibling {name}: already has these golden calls"
        else:
            yield f"Sibling {name}: has other golden calls and is not changed here"


def _format_execution(execution: GoldenExecution) -> Iterator[str]:
    """Format the corrected calls with their outputs, which are cut if they are long."""
    package = format_code_span(execution.package)
    lines = []
    for call in execution.calls:
        output = call.output
        if len(output) > MAX_OUTPUT_LENGTH:
            output = f"{output[:MAX_OUTPUT_LENGTH]}…"
        lines.append(f"turn {call.turn + 1}: {call.call} -> {output}")
    yield from format_titled_block(
        f"The corrected calls, executed with {package}", format_code_block("\n".join(lines))
    )
