"""Bombs of Inspect logs."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fcreview.safe_files import import_zipfile
from tests.bombs.bomb import MEGABYTE, Bomb, Json, name_values, nest, write_json

TEXT = "attachment://aaaa"
ZSTANDARD = 93
"""Method of the members of recent logs."""
HEADER: Json = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "task",
        "model": "model",
        "created": "2026-01-01T00:00:00",
        "dataset": {},
        "config": {},
    },
}
ANSWER: Json = {"role": "assistant", "content": "answer"}


def make_inspect_sample(messages: list[Json], **fields: Any) -> Json:
    return {
        "id": "s1",
        "epoch": 1,
        "input": "question",
        "target": "answer",
        "messages": [{"role": "user", "content": "question"}, *messages],
        "scores": {"match": {"value": "C"}},
        **fields,
    }


def write_eval(folder: Path, *samples: Json | bytes) -> None:
    """Write an Inspect log. A sample is an object, or its text."""
    write_eval_parts(folder, [[to_text(sample)] for sample in samples])


def write_eval_parts(
    folder: Path, samples: Iterable[Iterable[bytes]], method: int = zipfile.ZIP_DEFLATED
) -> None:
    """Write an Inspect log. A sample is a text in parts, so that it can be larger than memory."""
    folder.mkdir(parents=True, exist_ok=True)
    with import_zipfile().ZipFile(folder / "log.eval", "w", method) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for number, parts in enumerate(samples, 1):
            name = f"samples/s{number}_epoch_1.json"
            with archive.open(name, "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)


def to_text(sample: Json | bytes) -> bytes:
    return sample if isinstance(sample, bytes) else json.dumps(sample).encode()


def make_text_parts(n_megabytes: int, fill: bytes = b"x") -> Iterable[bytes]:
    chunk = fill * (MEGABYTE // len(fill))
    for _ in range(n_megabytes):
        yield chunk


def reference_in_parts(folder: Path, size: int) -> None:
    parts = [{"type": "text", "text": TEXT} for _ in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": parts}])


def reference_in_messages(folder: Path, size: int) -> None:
    write_referring_log(folder, [{"role": "assistant", "content": TEXT} for _ in range(size)])


def reference_in_arguments(folder: Path, size: int) -> None:
    calls = [{"id": f"c{n}", "function": "f", "arguments": {"a": TEXT}} for n in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": "", "tool_calls": calls}])


def reference_in_reasoning(folder: Path, size: int) -> None:
    parts = [{"type": "reasoning", "reasoning": TEXT} for _ in range(size)]
    write_referring_log(folder, [{"role": "assistant", "content": parts}])


def write_referring_log(folder: Path, messages: list[Json]) -> None:
    write_eval(folder, make_inspect_sample(messages, attachments={"aaaa": "x" * MEGABYTE}))


def large_fields(folder: Path, size: int) -> None:
    """A sample of `size` fields of 30 MB each, which is a thousandth of this size in the
    archive.
    """

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample([ANSWER]))[:-1]
        for number in range(size):
            yield f', "field{number}": "'.encode()
            yield from make_text_parts(30)
            yield b'"'
        yield b"}"

    write_eval_parts(folder, [make_parts()])


def large_attachments(folder: Path, size: int) -> None:
    """A sample with `size` attachments of 30 MB each, to which messages refer."""
    messages = [{"role": "assistant", "content": f"attachment://a{n}"} for n in range(size)]

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample(messages))[:-1]
        for number in range(size):
            yield (
                f', "attachments": {{"a{number}": "'.encode()
                if number == 0
                else (f', "a{number}": "'.encode())
            )
            yield from make_text_parts(30)
            yield b'"'
        yield b"}}"

    write_eval_parts(folder, [make_parts()])


def large_agent_states(folder: Path, size: int) -> None:
    """A sample whose store has `size` conversations of agents of 30 MB each."""

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample([ANSWER]))[:-1] + b', "store": {"a": 1'
        for number in range(size):
            yield f', "StoredAgentState:A{number}:messages": [{{"content": "'.encode()
            yield from make_text_parts(30)
            yield b'"}]'
        yield b"}}"

    write_eval_parts(folder, [make_parts()])


def spaces_before_sample(folder: Path, size: int) -> None:
    """A sample after `size` times 20 MB of spaces."""

    def make_parts() -> Iterable[bytes]:
        yield from make_text_parts(20 * size, b" ")
        yield to_text(make_inspect_sample([ANSWER]))

    write_eval_parts(folder, [make_parts()])


def compressed_samples(folder: Path, size: int) -> None:
    """`size` samples of 100 MB. With Zstandard, each takes some kilobytes in the archive."""

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample([ANSWER]))[:-1] + b', "timelines": "'
        yield from make_text_parts(100)
        yield b'"}'

    write_eval_parts(folder, [make_parts() for _ in range(size)], ZSTANDARD)


def many_keys(folder: Path, size: int) -> None:
    """A sample with `size` thousand attachments, of which none is needed."""

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample([ANSWER]))[:-1] + b', "attachments": {"a": 1'
        for _ in range(size):
            yield b', "attachment": 1' * 1000
        yield b', "long": "'
        yield from make_text_parts(5)
        yield b'"}}'

    write_eval_parts(folder, [make_parts()])


def small_events(folder: Path, size: int) -> None:
    """A sample with `size` megabytes of events that are empty lists."""

    def make_parts() -> Iterable[bytes]:
        yield to_text(make_inspect_sample([ANSWER]))[:-1] + b', "events": ['
        yield from make_text_parts(size, b"[],[]," * 10)
        yield b"[]]}"

    write_eval_parts(folder, [make_parts()])


def small_values(folder: Path, size: int) -> None:
    """A sample with `size` megabytes of empty lists in its metadata."""
    text = to_text(make_inspect_sample([ANSWER]))[:-1]
    lists = b",".join([b"[]"] * (size * MEGABYTE // 3))
    write_eval(folder, text + b', "metadata": {"a": [' + lists + b"]}}")


def deep_arguments(folder: Path, size: int) -> None:
    call = {"id": "c", "function": "f", "arguments": {"a": "NESTED"}}
    sample = make_inspect_sample([{"role": "assistant", "content": "", "tool_calls": [call]}])
    write_eval(folder, to_text(sample).replace(b'"NESTED"', nest(size).encode()))


def wide_arguments(folder: Path, size: int) -> None:
    call = {"id": "c", "function": "f", "arguments": name_values(size)}
    write_eval(
        folder, make_inspect_sample([{"role": "assistant", "content": "", "tool_calls": [call]}])
    )


def long_text(folder: Path, size: int) -> None:
    """A reply of `size` megabytes."""
    write_eval(
        folder, make_inspect_sample([{"role": "assistant", "content": "x" * (size * MEGABYTE)}])
    )


def many_scores(folder: Path, size: int) -> None:
    scores = {f"scorer{number}": {"value": "C"} for number in range(size)}
    write_eval(folder, make_inspect_sample([ANSWER]) | {"scores": scores})


def many_score_keys(folder: Path, size: int) -> None:
    scores = {"match": {"value": name_values(size)}}
    write_eval(folder, make_inspect_sample([ANSWER]) | {"scores": scores})


def many_messages(folder: Path, size: int) -> None:
    turns = [{"role": role, "content": "text"} for role in ("user", "assistant")] * size
    write_eval(folder, make_inspect_sample(turns))


def repeated_sample(folder: Path, size: int) -> None:
    write_eval(folder, *[make_inspect_sample([ANSWER]) for _ in range(size)])


def many_copies(folder: Path, size: int) -> None:
    """`size` copies of a log with other scores."""
    for number in range(size):
        sample = make_inspect_sample([ANSWER]) | {"scores": {"match": {"value": number}}}
        columns = [{"name": "match", "scorer": "match", "params": {"copy": number}, "metrics": {}}]
        log = HEADER | {"results": {"scores": columns}, "samples": [sample]}
        log["eval"] = HEADER["eval"] | {"task_id": "t", "eval_id": "e"}
        write_json(folder / f"log{number}.json", log)


def calls_in_a_turn_of_inspect(folder: Path, size: int) -> None:
    calls = [{"id": f"c{n}", "function": "f", "arguments": {"a": n}} for n in range(size)]
    results = [
        {"role": "tool", "tool_call_id": f"c{n}", "function": "f", "content": "ok"}
        for n in range(size)
    ]
    write_eval(
        folder,
        make_inspect_sample([{"role": "assistant", "content": "", "tool_calls": calls}, *results]),
    )


BOMBS = {
    "reference in parts": Bomb(reference_in_parts, "s1", size=3_000, small_size=3_000, is_cut=True),
    "reference in messages": Bomb(
        reference_in_messages, "s1", size=3_000, small_size=0, is_cut=True
    ),
    "reference in arguments": Bomb(
        reference_in_arguments, "s1", size=3_000, small_size=0, is_cut=True
    ),
    "reference in reasoning": Bomb(
        reference_in_reasoning, "s1", size=3_000, small_size=0, is_cut=True
    ),
    "large fields": Bomb(large_fields, "s1", size=4, small_size=2, is_cut=True),
    "many large fields": Bomb(
        large_fields, "s1", size=20, small_size=0, is_cut=True, has_items=False
    ),
    "large attachments": Bomb(large_attachments, "s1", size=4, small_size=0, is_cut=True),
    "large agent states": Bomb(large_agent_states, "s1", size=4, small_size=2, is_cut=True),
    "spaces": Bomb(spaces_before_sample, "s1", size=6, small_size=0),
    "compressed samples": Bomb(compressed_samples, "s1", size=12, small_size=12, is_cut=True),
    "many keys": Bomb(many_keys, "s1", size=400, small_size=210, is_cut=True, has_items=False),
    "small events": Bomb(small_events, "s1", size=20, small_size=0),
    "small values": Bomb(small_values, "s1", size=4, small_size=0, is_cut=True),
    "deep": Bomb(deep_arguments, "s1", size=20_000, small_size=0, has_items=False),
    "wide": Bomb(wide_arguments, "s1", size=80_000, small_size=0),
    "long": Bomb(long_text, "s1", size=40, small_size=40, is_cut=True),
    "many scores": Bomb(many_scores, "s1", size=5_000, small_size=200),
    "many score keys": Bomb(many_score_keys, "s1", size=5_000, small_size=0),
    "many messages": Bomb(many_messages, "s1", size=12_000, small_size=0),
    "repeated sample": Bomb(repeated_sample, "s1", size=2_000, small_size=0),
    "many copies": Bomb(many_copies, "", size=20, small_size=0),
    "calls in a turn": Bomb(calls_in_a_turn_of_inspect, "s1", size=20_000, small_size=1_000),
}
