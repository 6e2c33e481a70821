"""Recognise files that fcreview does not import, to say what they are and what to do.

The signs are names of fields in the published formats: see docs/generic.md for how to convert
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fcreview.importers.common.file_form import GIT_LFS_START, PROBE_BYTES, UTF16_BOMS, find_refusal
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.jsonl import is_large_file, make_excerpt
from fcreview.safe_files import open_file

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".traj", ".eval")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")
"""Suffixes of tables that a mapping file can describe."""
ARCHIVE_SUFFIXES = (".zip", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".zst", ".7z")
MAX_EXAMINED_FILES = 200
"""Number of files whose start is read to find the nearest match."""
MAX_ID_LENGTH = 60
CONVERT_ADVICE = "Convert the records to the generic format, which fcreview schema prints"
PROPOSE_ADVICE = "Describe it in a mapping file, which fcreview map propose FILE writes"
MAP_ADVICE = "Describe their columns in a mapping file (--map FILE)"
OPEN_EACH_ADVICE = "Write each result to a file of its own, and open their folder"
STREAM_ADVICE = "Use --output-format stream-json, whose lines fcreview reads"


@dataclass(frozen=True, slots=True)
class OtherFormat:
    """A format that fcreview does not import."""

    title: str
    """Phrase after `looks like`: `a Gemini log`."""
    signs: tuple[str, ...]
    """Names of fields that must all occur in the start of the file."""
    advice: str = CONVERT_ADVICE


OTHER_FORMATS = (
    OtherFormat("an AgentDojo run", ("suite_name", "user_task_id")),
    OtherFormat("a mini-SWE-agent trajectory", ("info", "messages", "trajectory_format")),
    OtherFormat("a mini-SWE-agent trajectory", ("info", "messages", "mini_version")),
    OtherFormat("a SWE-agent trajectory", ("trajectory", "observation", "action")),
    OtherFormat("an OpenHands output", ("instance_id", "history", "test_result")),
    OtherFormat("NeMo Skills output", ("generation", "num_generated_tokens")),
    OtherFormat("NeMo Skills output", ("generation", "generation_time")),
    OtherFormat("a verifiers rollout", ("traces", "task", "env")),
    OtherFormat("a verifiers rollout", ("example_id", "completion", "reward")),
    OtherFormat("a promptfoo result", ("evalId", "results")),
    OtherFormat("a LangSmith export", ("run_type", "inputs")),
    OtherFormat("a Langfuse export", ("observations", "scores")),
    OtherFormat("a terminal-bench result", ("is_resolved", "failure_mode")),
    OtherFormat(
        "a list of tau2 results", signs=("simulations", "tasks", "info"), advice=OPEN_EACH_ADVICE
    ),
    OtherFormat(
        "the output of claude -p --output-format json",
        signs=("subtype", "num_turns", "duration_api_ms"),
        advice=STREAM_ADVICE,
    ),
    OtherFormat(
        "the output of claude -p --output-format json",
        signs=("subtype", "init", "session_id"),
        advice=STREAM_ADVICE,
    ),
    OtherFormat("an export of ChatGPT", ("mapping", "current_node", "create_time")),
    OtherFormat("an export of claude.ai", ("chat_messages", "sender")),
    OtherFormat("a log of OpenAI Evals", ("sample_id", "event_id", "sampled")),
    OtherFormat("a log of OpenAI Evals", ("spec", "completion_fns")),
    OtherFormat("an export of OpenAI's evals", ("eval.run.output_item", "datasource_item")),
    OtherFormat(
        "the chunks of several replies of OpenAI's API", ("chat.completion.chunk", "delta")
    ),
    OtherFormat("the events of several replies of Anthropic's API", ("message_start", "content")),
    OtherFormat("a list of messages of OpenAI's Assistants", ("thread.message", "thread_id")),
    OtherFormat("spans of OpenInference (Phoenix)", ("openinference", "llm")),
    OtherFormat("spans of OpenInference (Phoenix)", ("openinference.span.kind",)),
    OtherFormat("spans of OpenTelemetry without messages", ("resourceSpans", "scopeSpans")),
    OtherFormat("steps of smolagents", ("step_number", "model_input_messages")),
    OtherFormat("a trajectory of DSPy", ("trajectory", "tool_name_0")),
    OtherFormat("an output of CrewAI", ("tasks_output", "raw")),
    OtherFormat("a session of Google's ADK", ("app_name", "events", "author")),
    OtherFormat("a state of an AutoGen agent", ("llm_context", "messages")),
    OtherFormat("a chat history of Semantic Kernel", ("Role", "Items")),
    OtherFormat("training rows with calls (xLAM)", ("query", "answers", "tools")),
    OtherFormat("training rows with preferences", ("prompt", "chosen", "rejected")),
    OtherFormat(
        "an OpenAI Responses log in another form",
        signs=("response", "output", "body"),
        advice=PROPOSE_ADVICE,
    ),
    OtherFormat(
        "an OpenAI Responses log in another form",
        signs=("function_call", "call_id"),
        advice=PROPOSE_ADVICE,
    ),
    OtherFormat("a Gemini log in another form", signs=("contents", "parts"), advice=PROPOSE_ADVICE),
    OtherFormat(
        "an Anthropic log in another form", signs=("tool_use", "content"), advice=PROPOSE_ADVICE
    ),
    OtherFormat("a chat log in another form", signs=("role", "content"), advice=PROPOSE_ADVICE),
)
"""Formats in the order in which they are tried: first those with the most particular signs."""


def explain_object_by_id(path: Path) -> str | None:
    """Return the reason why a file has no records, if the file is one JSON object with a field for
    each id. None for other files.
    """
    if is_large_file(path):
        return None
    entries = read_json(path, [], dict)
    if (
        not entries
        or "id" in entries
        or not all(isinstance(entry, (list, dict)) for entry in entries.values())
    ):
        return None
    example = make_excerpt(str(next(iter(entries))), MAX_ID_LENGTH)
    what = f"the file is one JSON object with an entry for each id, such as {example}"
    return f"{what}. Write one record with its id on each line"


def describe_files(files: Sequence[Path]) -> str:
    """Return how many files were examined: `3 files, 2 of them JSON`."""
    n_json = sum(path.suffix in JSON_SUFFIXES for path in files)
    noun = "file" if len(files) == 1 else "files"
    return f"{len(files):,} {noun}, {n_json:,} of them JSON"


def describe_nearest_match(files: Iterable[Path]) -> str | None:
    """Say what the opened files are, if no importer can read them.

    Returns a sentence about the first file of a known kind, such as a compressed file or one of
    another program, with advice. None if no file is recognised.
    """
    suffixes = (*JSON_SUFFIXES, *ARCHIVE_SUFFIXES)
    paths = list(files)
    candidates = [path for path in paths if path.suffix in suffixes]
    for path in candidates[:MAX_EXAMINED_FILES]:
        description = _describe_file(path)
        if description is not None:
            return description
    tables = [path for path in paths if path.suffix.lower() in TABLE_SUFFIXES]
    if tables:
        what = f"{tables[0].name} is a table with columns that fcreview does not know"
        return f"{what}. {PROPOSE_ADVICE}"
    return None


def _describe_file(path: Path) -> str | None:
    """Say why a file cannot be read, or of which other program it is. None if neither is known."""
    start = _read_start(path)
    refusal = _find_refusal_of_file(path, start)
    if refusal is not None:
        return f"{path.name}: {refusal}"
    match = find_other_format(start)
    if match is None:
        return None
    return f"{path.name} looks like {match.title}, which fcreview does not import. {match.advice}"


def find_other_format(file_start: bytes) -> OtherFormat | None:
    """Return the format whose signs occur in the start of a file, or None."""
    text = file_start.decode("utf-8", "replace")
    for other in OTHER_FORMATS:
        if all(f'"{sign}"' in text for sign in other.signs):
            return other
    return None


def find_archives(files: Iterable[Path]) -> list[Path]:
    return [path for path in files if path.suffix in ARCHIVE_SUFFIXES]


def find_git_lfs_pointers(files: Iterable[Path]) -> list[Path]:
    """Return the JSON files that are pointers of Git LFS.

    Pointers are small, so larger files are not read.
    """
    pointers = []
    for path in files:
        if path.suffix in JSON_SUFFIXES and _read_start(path, len(GIT_LFS_START)) == GIT_LFS_START:
            pointers.append(path)
    return pointers


def _find_refusal_of_file(path: Path, start: bytes) -> str | None:
    if path.suffix == ".eval":
        # A log of Inspect is a zip archive.
        return None
    if start.startswith(UTF16_BOMS):
        return "the file is UTF-16. Convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
    return find_refusal(start)


def _read_start(path: Path, n_bytes: int = PROBE_BYTES) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(n_bytes)
    except OSError:
        return b""
