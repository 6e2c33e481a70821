"""`fcreview judge`: ask a language model for verdicts, and store them as one more judge."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from fcreview.cli.item_rows import iterate_item_rows
from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import (
    Progress,
    emit,
    emit_json,
    emit_lines,
    format_cell,
    print_message,
    print_table,
    print_warning,
)
from fcreview.cli.workspace import read_workspace_file
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.judging.prompt import (
    DEFAULT_TEMPLATE,
    MAX_PROMPT_LENGTH,
    LabelledItem,
    PromptTemplate,
    format_examples,
    parse_template,
)
from fcreview.judging.records import (
    ItemContent,
    JudgeExample,
    JudgeIncident,
    Judgement,
    JudgeSetup,
    JudgeSource,
)
from fcreview.judging.reply import JudgeFailure
from fcreview.model.sanitize import REDACTED, redact_credentials, sanitize
from fcreview.model.verdict import PASS_FAIL_CRITERIA
from fcreview.model.wording import format_count
from fcreview.store.judgements import (
    JudgeFile,
    JudgeWriter,
    list_judges,
    open_judge_writer,
    read_judge,
)
from fcreview.store.workspace import check_annotator, to_safe_annotator

if TYPE_CHECKING:
    from fcreview.cli.judge_clients import Endpoint, JudgeClient, JudgeRequest
    from fcreview.cli.judge_requests import JudgeResult
    from fcreview.cli.workspace import WorkspaceSession
    from fcreview.judging.reply import JudgeReply
    from fcreview.store.rows import QueueRow, View
    from fcreview.store.workspace import Workspace

PROMPT_FILE = "judge-prompt.md"
"""Name of the template in the workspace."""
MAX_EXAMPLES = 50
MAX_FAILURES_IN_ROW = 20
"""Number of failures without a verdict between them after which no more items are sent."""
ITEMS_PER_BATCH = 100
"""Number of items that are in memory with their full texts."""
MEASURED_ITEMS = 100
"""Approximate number of items whose prompts estimate the number of tokens."""
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_PRICE = 1_000_000
"""Prices are for a million tokens, as providers state them."""
DEFAULT_PARAMETERS: dict[str, Any] = {"temperature": 0}


@workspace_command("annotator", "policy")
def judge(
    options: WorkspaceOptions,
    endpoint: Annotated[
        str | None,
        option("--endpoint URL", "OpenAI-compatible endpoint, such as https://api.example.com/v1."),
    ] = None,
    model: Annotated[str, option("--model NAME", "Model of the endpoint.")] = "",
    key_env: Annotated[
        str | None,
        option("--key-env VARIABLE", "Environment variable that contains the endpoint's key."),
    ] = None,
    command: Annotated[
        str | None,
        option("--command TEXT", "Command that reads requests and writes verdicts, one per line."),
    ] = None,
    name: Annotated[
        str | None,
        option("--name NAME", "Name of the judge.", show_default="the model or the command"),
    ] = None,
    where: WhereOption = "",
    queue: Annotated[
        str, option("--queue NAME", "Judge the items of this queue, in its order.")
    ] = "dataset",
    run: RunOption = None,
    limit: Annotated[int | None, option("--limit N", "Send at most N items.", min=1)] = None,
    criterion: Annotated[
        str, option("--criterion NAME", "Criterion that is judged, on pass or fail.")
    ] = "correct",
    examples: Annotated[
        str | None,
        option(
            "--examples N|QUEUE",
            "Put labelled items into the prompt: N of them, or those of a queue. The measures of"
            " `calibrate` leave them out.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        option(
            "--param NAME=JSON",
            "Further field of each request, such as max_tokens=500. null omits a default. You can"
            " repeat the option.",
            show_default="temperature=0",
        ),
    ] = None,
    rate: Annotated[
        float | None, option("--rate N", "Send at most N requests a minute.", min=0.001)
    ] = None,
    concurrency: Annotated[
        int, option("--concurrency N", "Number of requests at the same time.", min=1, max=64)
    ] = 4,
    timeout: Annotated[
        float, option("--timeout SECONDS", "Longest time for a reply.", min=0.1, max=3600)
    ] = 120.0,
    retries: Annotated[
        int, option("--retries N", "Number of retries after a temporary failure.", min=0, max=20)
    ] = 4,
    price_in: Annotated[
        float | None, option("--price-in X", "Price of a million tokens that are sent.", min=0)
    ] = None,
    price_out: Annotated[
        float | None, option("--price-out X", "Price of a million tokens that are received.", min=0)
    ] = None,
    yes: Annotated[bool, option("--yes -y", "Send the items without asking.")] = False,
    dry_run: Annotated[
        bool, option("--dry-run", "Print the prompt of the first item, and send nothing.")
    ] = False,
    write_prompt: Annotated[
        bool,
        option("--write-prompt", f"Write the default prompt to .fcreview/{PROMPT_FILE}."),
    ] = False,
    list_: Annotated[bool, option("--list", "List the judges of the workspace.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask a language model for verdicts.

    Sends items to an endpoint or to a command, and stores the verdicts in the workspace, as one
    more judge for `calibrate`. Prints what it sends and where, and asks before it sends anything.
    Items with a verdict of this judge are not sent again, so an interrupted command can continue.
    Screens and commands hide these verdicts on an item until you have reviewed it.

    Example: fcreview judge runs/gpt4o --command 'python judge.py' --limit 50 --dry-run
    """
    with open_workspace(options) as session:
        if list_:
            _print_judges(session.workspace, as_json=as_json)
            return
        if write_prompt:
            _write_default_prompt(session.workspace)
            return

        source = _choose_source(
            endpoint, model=model, key_variable=key_env, command=command, parameters=param or []
        )
        job = _JudgeJob(
            session,
            source,
            view=session.build_view(where, queue=queue, run=run),
            name=check_annotator(name or to_safe_annotator(source.default_name) or "judge"),
            criterion=_check_criterion(criterion),
            examples_from=examples or "",
            limit=limit,
            prices=_Prices(price_in, price_out),
        )
        plan = job.make_plan()
        if dry_run:
            _print_first_prompt(plan, as_json=as_json)
            return

        _describe_plan(plan)
        if plan.n_pending and not yes:
            _confirm()
        pace = _Pace(concurrency=concurrency, rate=rate, timeout=timeout, retries=retries)
        _run_plan(plan, pace, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Pace:
    concurrency: int
    rate: float | None
    timeout: float
    retries: int


@dataclass(frozen=True, slots=True)
class _Prices:
    """Prices of a million tokens; None if unknown."""

    tokens_in: float | None = None
    tokens_out: float | None = None

    @property
    def is_known(self) -> bool:
        return self.tokens_in is not None or self.tokens_out is not None

    def compute_cost(self, tokens_in: int, tokens_out: int) -> float | None:
        if not self.is_known:
            return None
        cost_in = tokens_in * (self.tokens_in or 0.0)
        cost_out = tokens_out * (self.tokens_out or 0.0)
        return (cost_in + cost_out) / TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True)
class _Source:
    """What is asked: an endpoint, or a command."""

    endpoint: Endpoint | None = None
    command: str = ""

    @property
    def default_name(self) -> str:
        if self.endpoint is not None:
            return self.endpoint.model
        first_word, *_ = self.command.split()
        return first_word.rsplit("/", 1)[-1]

    @property
    def address(self) -> str:
        """URL of the endpoint, or the command, without keys."""
        from fcreview.cli.judge_clients import describe_command

        return self.endpoint.address if self.endpoint else describe_command(self.command)

    def make_client(self, timeout: float) -> JudgeClient:
        from fcreview.cli.judge_clients import CommandClient, EndpointClient, parse_command

        if self.endpoint is not None:
            return EndpointClient(self.endpoint, timeout)
        return CommandClient(parse_command(self.command), timeout)


def _choose_source(
    endpoint: str | None,
    *,
    model: str,
    key_variable: str | None,
    command: str | None,
    parameters: Sequence[str],
) -> _Source:
    """Check the options that say what is asked. Raises UsageError if they are not complete."""
    from fcreview.cli.judge_clients import parse_command, parse_endpoint

    if (endpoint is None) == (command is None):
        raise UsageError("pass one of --endpoint URL and --command TEXT")
    if command is not None:
        if key_variable is not None or parameters or model:
            raise UsageError("--model, --key-env and --param belong to --endpoint")
        parse_command(command)
        return _Source(command=command)
    return _Source(
        parse_endpoint(
            endpoint or "",
            model,
            parameters=_parse_parameters(parameters),
            key_variable=key_variable,
        )
    )


def _parse_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Return the further fields of each request, such as the temperature.

    These are the defaults, changed by the values of --param NAME=JSON. The value null removes a
    default. Raises UsageError for a text of another form, and for a value that looks like a key.
    """
    parameters = dict(DEFAULT_PARAMETERS)
    for text in texts:
        # Without `=`, the value is empty, which is no JSON.
        name, _, value_text = text.partition("=")
        problem = f"--param {name!a}: write a field and its JSON value, such as max_tokens=500"
        # Other options choose the model and the messages.
        if name in ("model", "messages"):
            raise UsageError(problem)
        try:
            parameters[name] = orjson.loads(value_text)
        except orjson.JSONDecodeError:
            raise UsageError(problem) from None

    # The fields are stored and printed, so they must contain no secret.
    if REDACTED in orjson.dumps(redact_credentials(parameters)).decode():
        raise UsageError("--param must not contain a key. Pass a key with --key-env")
    return {name: value for name, value in parameters.items() if value is not None}


def _check_criterion(criterion: str) -> str:
    if criterion not in PASS_FAIL_CRITERIA:
        raise UsageError(f"--criterion {criterion!a}: choose {', '.join(PASS_FAIL_CRITERIA)}")
    return criterion


@dataclass(frozen=True, slots=True)
class _PendingItem:
    item: int
    content: ItemContent


@dataclass(frozen=True, slots=True)
class _ChosenExamples:
    """The labelled items that the prompts show as examples."""

    examples: tuple[JudgeExample, ...]
    text: str
    """The examples as a part of the prompt. Empty without examples."""


@dataclass(slots=True)
class _JudgePlan:
    """What is asked, and which items are sent."""

    job: _JudgeJob
    judge: JudgeFile
    setup: JudgeSetup
    template: PromptTemplate
    pending: list[_PendingItem] = field(default_factory=list)
    n_known: int = 0
    """Number of items with a verdict of this judge."""
    n_examples: int = 0
    n_incidents: int = 0
    """Number of items without an answer, for a reason outside the question."""

    @property
    def n_pending(self) -> int:
        return len(self.pending)

    def iter_requests(
        self, items: Sequence[_PendingItem] | None = None
    ) -> Iterator[JudgeRequest[_PendingItem]]:
        """Yield the request of each of `items`, by default of all pending items.

        The full texts are read in batches, so that only a few are in memory at a time.
        """
        from fcreview.cli.judge_clients import JudgeRequest

        pending = self.pending if items is None else items
        for start in range(0, len(pending), ITEMS_PER_BATCH):
            batch = pending[start : start + ITEMS_PER_BATCH]
            details = self.job.session.store.read_details([item.item for item in batch])
            for pending_item, detail in zip(batch, details, strict=True):
                yield JudgeRequest(
                    f"{detail.row.run}/{detail.row.id}",
                    prompt=self.template.render(detail.item, self.setup.criterion),
                    item=detail.key._asdict() | {"run": detail.row.run},
                    subject=pending_item,
                )


@dataclass(slots=True)
class _JudgeJob:
    """The options of a command, with its workspace."""

    session: WorkspaceSession
    source: _Source
    view: View
    name: str
    criterion: str
    examples_from: str
    limit: int | None
    prices: _Prices

    def make_plan(self) -> _JudgePlan:
        """Choose the items to send. Raises CommandError if the judge has another setup already."""
        judge = read_judge(self.session.workspace, self.name)
        for warning in judge.warnings:
            print_warning(warning)
        setup, template = self._prepare_setup(judge)
        plan = _JudgePlan(self, judge=judge, setup=setup, template=template)
        self._select_items(plan)
        return plan

    def _prepare_setup(self, judge: JudgeFile) -> tuple[JudgeSetup, PromptTemplate]:
        """Return the setup of the judge, and the template of its prompts.

        Raises CommandError if the judge already has verdicts of another setup.
        """
        template = _load_template(self.session.workspace)
        chosen = self._find_examples(judge.setup)
        if chosen.text and "{{examples}}" not in template.text.replace(" ", ""):
            raise UsageError(f"{PROMPT_FILE} has no placeholder {{{{examples}}}} for --examples")
        template = replace(template, examples=chosen.text)

        setup = self._build_setup(template, chosen)
        earlier = judge.setup
        if earlier is None:
            return setup, template
        if earlier.id != setup.id:
            raise CommandError(
                f"the judge {self.name} has verdicts of another setup (different:"
                f" {setup.describe_difference(earlier)}). Choose another --name"
            )
        return earlier, template

    def _build_setup(self, template: PromptTemplate, chosen: _ChosenExamples) -> JudgeSetup:
        """Build the setup from the options. A command has no model and no parameters."""
        source: JudgeSource = "command"
        model = ""
        parameters: dict[str, Any] = {}
        endpoint = self.source.endpoint
        if endpoint is not None:
            source = "endpoint"
            model = endpoint.model
            parameters = dict(endpoint.parameters)

        return JudgeSetup(
            source=source,
            address=self.source.address,
            model=model,
            criterion=self.criterion,
            template=template.text,
            prompt_hash=template.hash,
            parameters=parameters,
            examples_from=self.examples_from,
            examples_text=chosen.text,
            examples=chosen.examples,
            time=_now(),
        )

    def _find_examples(self, earlier: JudgeSetup | None) -> _ChosenExamples:
        """Return the examples for the prompt. If an earlier setup took them from the same source,
        its examples are used again, so that all verdicts of the judge come from the same prompt.
        """
        if earlier is not None and earlier.examples_from == self.examples_from:
            return _ChosenExamples(earlier.examples, earlier.examples_text)
        if not self.examples_from:
            return _ChosenExamples((), "")
        return self._choose_examples()

    def _choose_examples(self) -> _ChosenExamples:
        """Choose labelled items, in turn one that passes and one that fails.

        Raises UsageError if there is no labelled item.
        """
        view, max_examples = self._build_examples_view()
        labels = self._fetch_labels(view)
        if not labels:
            raise UsageError(
                f"--examples {self.examples_from}: no item has a human verdict on"
                f" {self.criterion}. Review items first"
            )

        passing = [item for item, passes in labels.items() if passes]
        failing = [item for item, passes in labels.items() if not passes]
        chosen = _alternate(passing, failing)[:max_examples]
        return self._read_examples(chosen, labels)

    def _read_examples(self, numbers: Sequence[int], labels: Mapping[int, bool]) -> _ChosenExamples:
        """Read the chosen items: their texts for the prompt, and their hashes for the setup."""
        contents = self.session.store.judgements.fetch_contents(numbers)
        examples = []
        labelled_items = []
        for detail in self.session.store.read_details(numbers):
            verdict = labels[detail.row.item]
            examples.append(JudgeExample(contents[detail.row.item], verdict=verdict))
            labelled_items.append(LabelledItem(detail.item, verdict))
        return _ChosenExamples(tuple(examples), format_examples(labelled_items))

    def _fetch_labels(self, view: View) -> dict[int, bool]:
        """Fetch the human verdicts on items that have an answer, in the order of the view."""
        rows = list(iterate_item_rows(self.session, view, None))
        numbers = [row.item for row in rows]
        labels = self.session.store.judgements.fetch_labels(numbers, self.criterion)
        return {
            row.item: labels[row.item] for row in rows if row.item in labels and not row.is_incident
        }

    def _build_examples_view(self) -> tuple[View, int]:
        """Return the items from which examples are taken, and the largest number of examples."""
        if self.examples_from.isdecimal():
            n_examples = int(self.examples_from)
            if not 1 <= n_examples <= MAX_EXAMPLES:
                raise UsageError(f"--examples: choose a number from 1 to {MAX_EXAMPLES}")
            return self.session.build_view(queue="random"), n_examples
        return self.session.build_view(queue=self.examples_from), MAX_EXAMPLES

    def _select_items(self, plan: _JudgePlan) -> None:
        """Put the items that need a verdict into `plan.pending`, and count the others by reason."""
        examples = {example.content for example in plan.setup.examples}
        seen: set[ItemContent] = set()
        for row, content in self._iter_contents():
            # Two runs can contain the same answer. It is sent once.
            if content in seen:
                continue
            seen.add(content)
            if content in plan.judge.verdicts:
                plan.n_known += 1
            elif content in examples:
                plan.n_examples += 1
            elif row.is_incident:
                plan.n_incidents += 1
            elif self.limit is None or plan.n_pending < self.limit:
                plan.pending.append(_PendingItem(row.item, content))

    def _iter_contents(self) -> Iterator[tuple[QueueRow, ItemContent]]:
        rows = iterate_item_rows(self.session, self.view, None)
        while batch := list(islice(rows, ITEMS_PER_BATCH * 10)):
            contents = self.session.store.judgements.fetch_contents([row.item for row in batch])
            for row in batch:
                yield row, contents[row.item]


def _alternate(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the numbers of two lists in turn, then the rest of the longer list."""
    mixed: list[int] = []
    for index in range(max(len(first), len(second))):
        if index < len(first):
            mixed.append(first[index])
        if index < len(second):
            mixed.append(second[index])
    return mixed


def _load_template(workspace: Workspace) -> PromptTemplate:
    """Load the template of the workspace, or the default one."""
    content = read_workspace_file(workspace, workspace.root / PROMPT_FILE)
    if content is None:
        return parse_template(DEFAULT_TEMPLATE, PROMPT_FILE)
    try:
        return parse_template(content.decode(), PROMPT_FILE)
    except UnicodeDecodeError:
        raise CommandError(f"{workspace.root / PROMPT_FILE} is not valid UTF-8") from None


def _write_default_prompt(workspace: Workspace) -> None:
    """Write the default prompt to the workspace, for the user to edit. Never overwrites a file."""
    path = workspace.root / PROMPT_FILE
    try:
        workspace.files.write(path, DEFAULT_TEMPLATE.encode(), overwrite=False)
    except FileExistsError:
        raise CommandError(f"{path} exists already. Edit or delete it") from None
    print_message(f"wrote the default prompt to {path}")


def _print_first_prompt(plan: _JudgePlan, *, as_json: bool) -> None:
    """Print the plan and the prompt of the first item, without sending anything."""
    _describe_plan(plan)
    for request in plan.iter_requests(plan.pending[:1]):
        if as_json:
            emit_json({"id": request.id, "item": request.item, "prompt": request.prompt})
        else:
            emit_lines(sanitize(line) for line in request.prompt.split("\n"))
    print_message("nothing was sent (--dry-run)")


def _describe_plan(plan: _JudgePlan) -> None:
    """Print what is sent, and where."""
    target = format_cell(plan.setup.address)
    if plan.setup.model:
        target += f", model {format_cell(plan.setup.model)}"
    items = format_count(plan.n_pending, "item")
    print_message(f"{plan.job.name}: {items} to send to {target}")

    unsent = list(_describe_unsent_items(plan))
    if unsent:
        print_message(f"not sent: {' · '.join(unsent)}")
    if plan.n_pending:
        print_message(_estimate_tokens(plan))


def _describe_unsent_items(plan: _JudgePlan) -> Iterator[str]:
    """Yield how many items are not sent for each reason."""
    if plan.n_known:
        yield f"{plan.n_known:,} with a verdict"
    if plan.n_examples:
        yield f"{plan.n_examples:,} used as examples"
    if plan.n_incidents:
        yield format_count(plan.n_incidents, "incident")


def _estimate_tokens(plan: _JudgePlan) -> str:
    """Describe about how many tokens the prompts have, and what they cost, from a sample of the
    items.
    """
    # Items of one category stand together, so the measured ones come from the whole list.
    distance = max(1, plan.n_pending // MEASURED_ITEMS)
    measured_items = plan.pending[::distance]
    lengths = [len(request.prompt) for request in plan.iter_requests(measured_items)]
    tokens_per_item = sum(lengths) / len(lengths) / CHARACTERS_PER_TOKEN
    text = f"about {tokens_per_item:,.0f} tokens for each item"
    cost = plan.job.prices.compute_cost(round(tokens_per_item * plan.n_pending), 0)
    if cost is not None:
        text += f" · cost without replies about {_format_cost(cost)}"
    return text


def _format_cost(cost: float) -> str:
    """Format a cost with two decimals, or with four if it is below 1."""
    return f"{cost:,.4f}" if cost < 1 else f"{cost:,.2f}"


def _confirm() -> None:
    """Ask whether to send the items. Raises CommandError without a yes."""
    has_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not has_terminal:
        raise CommandError(
            "nothing was sent, because there is no terminal for the confirmation. Pass --yes to"
            " send the items"
        )
    if not typer.confirm("Send these items?", err=True):
        raise CommandError("nothing was sent, because you did not confirm")


@dataclass(slots=True)
class _Totals:
    """Counts of a run of the command. The fields are also keys of the JSON output."""

    judge: str
    asked: int = 0
    verdicts: int = 0
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    known: int = 0
    left: int = 0
    """Number of items without a verdict that this command did not send."""
    failed_in_row: int = field(default=0, repr=False)

    def add(self, result: JudgeResult[_PendingItem], prices: _Prices) -> None:
        """Count the result of one request. Successive failures are counted too, to decide when to
        give up.
        """
        self.asked += 1
        if result.reply is None:
            kind = result.failure.kind if result.failure else "connection"
            self.failed += 1
            self.failed_in_row += 1
            self.failures[kind] = self.failures.get(kind, 0) + 1
            return
        self.verdicts += 1
        self.failed_in_row = 0
        self.tokens_in += result.reply.usage.tokens_in or 0
        self.tokens_out += result.reply.usage.tokens_out or 0
        self.cost = prices.compute_cost(self.tokens_in, self.tokens_out)

    def describe(self) -> str:
        """Describe the totals on one line: `20 verdicts · 1 failed`."""
        parts = [format_count(self.verdicts, "verdict")]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.tokens_in or self.tokens_out:
            parts.append(f"{self.tokens_in:,} + {self.tokens_out:,} tokens")
        if self.cost is not None:
            parts.append(f"cost {_format_cost(self.cost)}")
        return " · ".join(parts)

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["failed_in_row"]
        return fields


def _run_plan(plan: _JudgePlan, pace: _Pace, *, as_json: bool) -> None:
    """Send the items, record the results, and print the counts, also after an interruption."""
    totals = _Totals(plan.job.name, known=plan.n_known)
    try:
        if plan.n_pending:
            _send_items(plan, pace, totals)
    finally:
        totals.left = plan.n_pending - totals.verdicts
        if as_json:
            emit_json(totals.as_json())
        else:
            _print_totals(totals)


def _print_totals(totals: _Totals) -> None:
    """Print the counts of the requests, and what to do next."""
    emit(f"{totals.judge}: {totals.describe()}")
    for kind, count in sorted(totals.failures.items()):
        print_message(f"{count:,} without a verdict: {kind}")
    if totals.left:
        items = format_count(totals.left, "item")
        print_message(f"{items} have no verdict. Run the same command again to continue")
    if totals.verdicts:
        print_message(
            "The verdicts are hidden on an item until you have reviewed it. Run fcreview calibrate"
            " to measure the judge"
        )


def _send_items(plan: _JudgePlan, pace: _Pace, totals: _Totals) -> None:
    """Ask the judge about all pending items, write each verdict as soon as it is there, and count
    the results in `totals`.
    """
    from fcreview.cli.judge_requests import JudgeRunner, RetryRules

    runner: JudgeRunner[_PendingItem] = JudgeRunner(
        lambda: plan.job.source.make_client(pace.timeout),
        concurrency=min(pace.concurrency, plan.n_pending),
        rate=pace.rate,
        retries=RetryRules(pace.retries),
    )

    workspace = plan.job.session.workspace
    progress = Progress("judging", lambda n: f"{n:,}")
    # The writer locks the file of the judge, so that the pending items are right from then on.
    with open_judge_writer(workspace, plan.job.name) as writer, progress, runner:
        _drop_items_of_other_process(plan)
        if plan.judge.setup is None:
            writer.append(plan.setup)
        # Prompts that are too long are recorded and counted without being sent.
        requests = _select_sendable(plan, writer, totals)
        for result in runner.ask(requests):
            _record_result(plan, writer, result)
            totals.add(result, plan.job.prices)
            progress(totals.describe(), totals.asked, plan.n_pending)
            _raise_if_failing(totals, result)


def _drop_items_of_other_process(plan: _JudgePlan) -> None:
    """Read the file again, now that it is locked: another process may have judged items."""
    judge = read_judge(plan.job.session.workspace, plan.job.name)
    if judge.setup is not None and judge.setup.id != plan.setup.id:
        raise CommandError(f"another process has changed the judge {plan.job.name}")
    plan.judge = judge
    plan.pending = [each for each in plan.pending if each.content not in judge.verdicts]


def _select_sendable(
    plan: _JudgePlan, writer: JudgeWriter, totals: _Totals
) -> Iterator[JudgeRequest[_PendingItem]]:
    """Yield the requests whose prompts are not too long, and record the others as incidents."""
    from fcreview.cli.judge_requests import JudgeResult

    for request in plan.iter_requests():
        if len(request.prompt) <= MAX_PROMPT_LENGTH:
            yield request
            continue
        message = f"the prompt has {len(request.prompt):,} characters"
        failure = JudgeFailure("prompt_too_long", message)
        result = JudgeResult(request, failure=failure, attempts=0)
        _record_result(plan, writer, result)
        totals.add(result, plan.job.prices)


def _record_result(
    plan: _JudgePlan, writer: JudgeWriter, result: JudgeResult[_PendingItem]
) -> None:
    """Append the verdict or the incident to the judge's file. It is on disk when this returns."""
    if result.reply is None:
        writer.append(_make_incident(plan, result))
    else:
        writer.append(_make_judgement(plan, result, result.reply))


def _make_incident(plan: _JudgePlan, result: JudgeResult[_PendingItem]) -> JudgeIncident:
    """Return the record of an item that has no reply, with the reason."""
    failure = result.failure or JudgeFailure("connection", "no reply")
    return JudgeIncident(
        plan.setup.id,
        content=result.request.subject.content,
        kind=failure.kind,
        text=str(failure),
        time=_now(),
        attempts=result.attempts,
    )


def _make_judgement(
    plan: _JudgePlan, result: JudgeResult[_PendingItem], reply: JudgeReply
) -> Judgement:
    """Return the record of a verdict, with the tokens and the time that it took."""
    return Judgement(
        plan.setup.id,
        content=result.request.subject.content,
        criterion=plan.setup.criterion,
        verdict=reply.verdict,
        rationale=reply.rationale,
        model=reply.model or plan.setup.model,
        prompt_hash=plan.setup.prompt_hash,
        time=_now(),
        tokens_in=reply.usage.tokens_in,
        tokens_out=reply.usage.tokens_out,
        seconds=round(result.seconds, 3),
    )


def _raise_if_failing(totals: _Totals, result: JudgeResult[_PendingItem]) -> None:
    if totals.failed_in_row >= MAX_FAILURES_IN_ROW:
        raise CommandError(
            f"stopped after {totals.failed_in_row} failures in a row. The last one:"
            f" {result.failure}"
        )


_LIST_HEADERS = ("judge", "model", "criterion", "verdicts", "failures", "examples", "since")


def _print_judges(workspace: Workspace, *, as_json: bool) -> None:
    """List the judges of a workspace, without their verdicts."""
    rows = []
    for name in list_judges(workspace):
        judge = read_judge(workspace, name)
        for warning in judge.warnings:
            print_warning(warning)
        if judge.setup is None:
            continue

        facts = _collect_judge_facts(judge, judge.setup)
        if as_json:
            emit_json(facts)
        else:
            rows.append([format_cell(facts[header]) for header in _LIST_HEADERS])

    if as_json:
        return
    if not rows:
        emit("there are no judges. Run fcreview judge with --endpoint or --command")
        return
    print_table(_LIST_HEADERS, rows)


def _collect_judge_facts(judge: JudgeFile, setup: JudgeSetup) -> Mapping[str, Any]:
    """Return the setup of a judge and the counts of its records, as JSON fields."""
    tokens_in = sum(verdict.tokens_in or 0 for verdict in judge.verdicts.values())
    tokens_out = sum(verdict.tokens_out or 0 for verdict in judge.verdicts.values())
    return {
        "judge": judge.name,
        "source": setup.source,
        "address": setup.address,
        "model": setup.model,
        "parameters": setup.parameters,
        "criterion": setup.criterion,
        "prompt_hash": setup.prompt_hash,
        "verdicts": len(judge.verdicts),
        "failures": len(judge.incidents),
        "examples": len(setup.examples),
        "examples_from": setup.examples_from,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "since": setup.time,
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
