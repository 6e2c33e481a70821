"""Load a mapping file: a TOML file that says where the parts of an item are in other files.

The form is described in docs/mapping.md. Everything that is wrong with the file is collected, so
that one check names all mistakes.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar, get_args

import fcreview.importers
from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.importers.common.records import is_number
from fcreview.importers.dialects.detection import list_dialects
from fcreview.importers.dialects.text_calls import STYLES
from fcreview.importers.mapping.expressions import (
    Expression,
    InvalidExpression,
    compile_expression,
)
from fcreview.safe_files import read_file

Choice = TypeVar("Choice", bound=str)
MAX_MAPPING_BYTES = 1 << 20
VERSION = 1
FileFormat = Literal["json", "jsonl", "csv", "tsv", "parquet"]
FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
Encoding = Literal[
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "windows-1252",
    "iso-8859-1",
    "iso-8859-15",
    "windows-1251",
    "gb18030",
    "big5",
    "shift_jis",
    "euc-kr",
]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
"""Encodings of tables. In those with one or two bytes a character, a line break is one byte."""
DELIMITERS: Mapping[str, str] = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
}
"""Delimiter of columns -> its name in messages."""
ValueSource = Literal["path", "doc", "file", "entry", "index", "const"]
VALUE_SOURCES: tuple[ValueSource, ...] = get_args(ValueSource)
Parser = Literal["json", "python", "lines"]
PARSERS: tuple[Parser, ...] = get_args(Parser)
GoldenKind = Literal["calls", "text", "criteria", "messages"]
GOLDEN_KINDS: tuple[GoldenKind, ...] = get_args(GoldenKind)
ErrorKind = Literal["infrastructure", "tool"]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
AUTOMATIC = "auto"
"""Dialect that is recognised by the messages."""

ITEM = "item"
ITEM_KEYS = (
    "id",
    "group",
    "trial",
    "model",
    "run",
    "category",
    "question",
    "time",
    "messages",
    "calls",
    "response",
    "golden",
    "golden_messages",
    "criteria",
    "tools",
    "verdict",
    "score",
    "error",
    "metadata",
)
JUDGE_KEYS = ("name", "verdict", "rationale", "score")
HUMAN_KEYS = ("name", "verdict", "note", "time", "tag")
VERDICT_OPTIONS = ("pass", "fail", "pass_at", "find")
CALL_OPTIONS = ("call_name", "call_arguments", "call_id", "turn")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "messages": ("dialect", "tags"),
    "golden_messages": ("dialect",),
    "golden": ("kind", "dialect", *CALL_OPTIONS),
    "calls": CALL_OPTIONS,
    "tools": ("dialect",),
    "verdict": VERDICT_OPTIONS,
    "error": ("kind",),
}
"""Options of a value beside those that say where it is, by key."""
VALUE_OPTIONS = (*VALUE_SOURCES, "from", "parse")
DEFAULT_PASS = frozenset({"true", "1"})
DEFAULT_FAIL = frozenset({"false", "0"})
_REPEAT = r"(?:[*+]|\{\d*,\d*\})"
_NESTED_REPEAT = re.compile(rf"\((?:[^()\\]|\\.)*{_REPEAT}(?:[^()\\]|\\.)*\){_REPEAT}")
"""Matches a repeated group that contains a repeat, on which a search can take forever."""
MAX_REPEATS = 3
_UNBOUNDED_REPEAT = re.compile(r"(?<!\\)(?:[*+]|\{\d*,\})")


class InvalidMapping(FcreviewError):
    """Raised for a mapping file with mistakes. Nothing is then imported."""

    exit_code = EXIT_USAGE_ERROR

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        lines = [f"{path}: {problem}" for problem in problems]
        super().__init__("\n".join(lines))
        self.problems = list(problems)


@dataclass(frozen=True, slots=True)
class Value:
    """Where one value of an item is."""

    key: str
    """Place in the mapping file: `item.id`, `judge[0].name`."""
    source: ValueSource
    expression: Expression | None = None
    """Expression of a `path` or a `doc`."""
    text: str = ""
    """Name of the group of a `file`, or the constant."""
    join: str = ""
    parser: Parser | None = None

    @property
    def is_known_by_file(self) -> bool:
        """Whether the value is the same for all items of a file."""
        return self.source in ("file", "const") and not self.join


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """How a value becomes a verdict. Texts are compared without case and outer spaces."""

    passes: frozenset[str] = DEFAULT_PASS
    fails: frozenset[str] = DEFAULT_FAIL
    pass_at: float | None = None
    pattern: re.Pattern[str] | None = None
    """The group of its last match in the text is the value."""


@dataclass(frozen=True, slots=True)
class CallForm:
    """Where the parts of a call are in an element of a list of calls."""

    name: Expression
    arguments: Expression
    id: Expression
    turn: Expression


@dataclass(frozen=True, slots=True)
class FilePattern:
    """Files of a source or of a join, and the list of records in each of them."""

    globs: tuple[str, ...]
    format: FileFormat | None = None
    items: Expression | None = None
    entries: bool = False
    name: re.Pattern[str] | None = None
    delimiter: str | None = None
    """Delimiter of the columns of tables; None for the usual one."""
    encoding: Encoding | None = None
    """Encoding of tables; None for UTF-8, or UTF-16 with a byte order mark."""


@dataclass(frozen=True, slots=True)
class Join:
    """Files with verdicts, whose rows belong to items with the same key."""

    name: str
    files: FilePattern
    on: Value


@dataclass(frozen=True, slots=True)
class Opinion:
    """Where a record has the opinion of a judge or person: the places of the verdict and of the
    values that belong to it, such as the explanation.
    """

    key: str
    values: Mapping[str, Value]
    rule: VerdictRule
    join: str = ""
    """Join in whose rows all values are; empty if they are in the item."""


@dataclass(frozen=True, slots=True)
class ItemForm:
    """Where the parts of an item are, and how they are read."""

    values: Mapping[str, Value]
    rule: VerdictRule = VerdictRule()
    dialect: str | None = None
    tags: str | None = None
    golden_kind: GoldenKind = "calls"
    golden_dialect: str | None = None
    golden_calls: CallForm | None = None
    calls: CallForm | None = None
    error_kind: ErrorKind = "infrastructure"
    join_key: Value | None = None


@dataclass(frozen=True, slots=True)
class ItemMapping:
    """A mapping file without mistakes, or the part of it that has none."""

    path: Path
    benchmark: str
    sources: tuple[FilePattern, ...]
    joins: Mapping[str, Join]
    item: ItemForm
    judges: tuple[Opinion, ...] = ()
    humans: tuple[Opinion, ...] = ()

    def list_keys(self) -> list[str]:
        """Return the keys of the mapping file that name a value, in their order."""
        keys = [value.key for value in self.item.values.values()]
        for opinion in (*self.judges, *self.humans):
            keys += [value.key for value in opinion.values.values()]
        return keys


@dataclass(slots=True)
class CheckedMapping:
    """What could be read of a mapping file, and its mistakes."""

    mapping: ItemMapping | None
    problems: list[str] = field(default_factory=list)


def load_mapping(path: Path) -> ItemMapping:
    """Load a mapping file. Raises InvalidMapping with all mistakes."""
    checked = check_mapping(path)
    if checked.mapping is None or checked.problems:
        raise InvalidMapping(path, checked.problems)
    return checked.mapping


def check_mapping(path: Path) -> CheckedMapping:
    """Load a mapping file as far as it can be read, and collect its mistakes."""
    try:
        text = read_file(path, MAX_MAPPING_BYTES).decode("utf-8-sig")
        document = tomllib.loads(text)
    except OSError as error:
        return CheckedMapping(None, [f"the file cannot be read: {error.strerror or error}"])
    except UnicodeDecodeError:
        return CheckedMapping(None, ["the file is not UTF-8"])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return CheckedMapping(None, [f"the file is not TOML: {error}"])
    return read_mapping_tables(path, document)


def read_mapping_tables(path: Path, document: dict[str, Any]) -> CheckedMapping:
    """Read the tables of a mapping file. `path` is its place, which need not exist."""
    return _MappingReader(path, document).read()


def is_mapping_file(path: Path) -> bool:
    """Whether a file is a mapping file by its content: TOML with a table `map`."""
    try:
        text = read_file(path, MAX_MAPPING_BYTES).decode("utf-8-sig")
        return isinstance(tomllib.loads(text).get("map"), dict)
    except (OSError, ValueError, RecursionError):
        return False


@cache
def _list_importer_names() -> frozenset[str]:
    """Return the names of the importers, which name the benchmarks whose rules fcreview has."""
    folders = [module.name for module in iter_modules(fcreview.importers.__path__)]
    return frozenset([*folders, "generic"])


class _MappingReader:
    """Reads the tables of a mapping file, and collects everything that is wrong with them."""

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self._path = path
        self._document = document
        self._problems: list[str] = []

    def read(self) -> CheckedMapping:
        """Read the tables of a mapping file, and collect the problems in them."""
        self._report_unknown(self._document, ("map", "source", "join", "item", "judge", "human"))
        benchmark = self._read_header()
        sources = self._read_sources()
        joins = dict(self._read_joins())
        item = self._read_item()
        judges = tuple(self._read_opinions("judge", JUDGE_KEYS, joins))
        humans = tuple(self._read_opinions("human", HUMAN_KEYS, joins))
        if "source" not in self._document:
            self._add_problem("the table [[source]] is missing")
        self._check_joins(item, joins)

        mapping = ItemMapping(
            self._path,
            benchmark=benchmark,
            sources=sources,
            joins=joins,
            item=item,
            judges=judges,
            humans=humans,
        )
        return CheckedMapping(mapping, self._problems)

    def _read_sources(self) -> tuple[FilePattern, ...]:
        """Return the valid tables [[source]]."""
        sources = []
        for index, table in self._list_tables("source"):
            source = self._read_files(table, f"source[{index}]", ())
            if source is not None:
                sources.append(source)
        return tuple(sources)

    def _add_problem(self, what: str) -> None:
        self._problems.append(what)

    def _report_unknown(
        self, table: Mapping[str, Any], known: Sequence[str], place: str = ""
    ) -> None:
        """Report the keys of a table that a mapping file does not know."""
        for name, value in table.items():
            if name in known:
                continue
            if not place and isinstance(value, dict):
                self._add_problem(f"unknown table [{name}]")
            else:
                self._add_problem(f"unknown key {place}{name}. Use one of {', '.join(known)}")

    def _read_header(self) -> str:
        """Read the table [map], and return the name of the benchmark, or an empty text if it is
        invalid.
        """
        table = self._document.get("map")
        if not isinstance(table, dict):
            self._add_problem("the table [map] is missing")
            return ""

        self._report_unknown(table, ("version", "benchmark"), "map.")
        if table.get("version") != VERSION:
            self._add_problem(f"map.version must be {VERSION}")

        benchmark = table.get("benchmark")
        if not isinstance(benchmark, str) or not benchmark.strip():
            self._add_problem("map.benchmark is required: the name that fcreview shows")
            return ""
        if benchmark in _list_importer_names():
            self._add_problem(
                f"map.benchmark: {benchmark} is the name of an importer of fcreview. Use another"
            )
        return benchmark

    def _list_tables(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the tables of an array of tables with their positions."""
        tables = self._document.get(name, [])
        if not isinstance(tables, list):
            self._add_problem(f"write [[{name}]] instead of [{name}]")
            tables = [tables]
        for index, table in enumerate(tables):
            if isinstance(table, dict):
                yield index, table
            else:
                self._add_problem(f"{name} is not a table")

    # -- files

    def _read_files(
        self, table: dict[str, Any], place: str, more_keys: tuple[str, ...]
    ) -> FilePattern | None:
        """Read which files a table names, and where their records are. None if the files are
        invalid.
        """
        known = ("files", "format", "items", "entries", "name", "delimiter", "encoding", *more_keys)
        self._report_unknown(table, known, f"{place}.")

        # All values are read, so that the user sees the mistakes of all at once.
        globs = self._read_globs(table.get("files"), place)
        format_name = self._read_choice(table.get("format"), FORMATS, f"{place}.format")
        items = self._read_expression(table.get("items"), f"{place}.items")
        entries = self._read_flag(table.get("entries", False), f"{place}.entries")
        name = self._read_pattern(table.get("name"), f"{place}.name")
        delimiter = self._read_delimiter(table.get("delimiter"), f"{place}.delimiter")
        encoding = self._read_choice(table.get("encoding"), ENCODINGS, f"{place}.encoding")

        if globs is None:
            return None
        return FilePattern(
            globs,
            format_name,
            items=items,
            entries=entries,
            name=name,
            delimiter=delimiter,
            encoding=encoding,
        )

    def _read_flag(self, written: Any, place: str) -> bool:
        if isinstance(written, bool):
            return written
        self._add_problem(f"{place} must be true or false")
        return False

    def _read_delimiter(self, written: Any, place: str) -> str | None:
        if written is None or (isinstance(written, str) and written in DELIMITERS):
            return written
        known = ", ".join(json.dumps(delimiter) for delimiter in DELIMITERS)
        self._add_problem(f"{place} must be one of {known}")
        return None

    def _read_globs(self, written: Any, place: str) -> tuple[str, ...] | None:
        """Read the file patterns of a table. None if one is invalid."""
        globs = [written] if isinstance(written, str) else written
        are_texts = isinstance(globs, list) and all(isinstance(glob, str) for glob in globs)
        if not are_texts or not globs:
            self._add_problem(f"{place}.files is required: a pattern, or a list of patterns")
            return None
        for glob in globs:
            if not glob or Path(glob).is_absolute():
                what = f"{place}.files: {glob!r} is not a pattern relative to the mapping file"
                self._add_problem(what)
                return None
        return tuple(globs)

    def _read_joins(self) -> Iterator[tuple[str, Join]]:
        """Yield the valid tables [[join]] with their names."""
        names: set[str] = set()
        for index, table in self._list_tables("join"):
            place = f"join[{index}]"
            files = self._read_files(table, place, ("as", "on"))
            name = table.get("as")
            if not isinstance(name, str) or not name or name in names:
                self._add_problem(f"{place}.as is required: a name that no other join has")
                continue
            names.add(name)
            on = self._read_join_key(table, place)
            if files is not None and on is not None:
                yield name, Join(name, files, on)

    def _read_join_key(self, table: Mapping[str, Any], place: str) -> Value | None:
        """Read where the key is in the rows of a join. None if it is missing or invalid."""
        if "on" not in table:
            self._add_problem(f"{place}.on is required: the path of the key in its rows")
            return None
        return self._read_value(table["on"], f"{place}.on")

    def _check_joins(self, item: ItemForm, joins: Mapping[str, Join]) -> None:
        values = [*item.values.values()]
        if item.join_key is not None:
            values.append(item.join_key)
        for value in values:
            if value.join and value.join not in joins:
                self._add_problem(f"{value.key}.from: there is no join {value.join}")

    # -- items

    def _read_item(self) -> ItemForm:
        """Read the table [item], which says where the parts of an item are."""
        table = self._document.get("item")
        if not isinstance(table, dict):
            self._add_problem("the table [item] is missing")
            return ItemForm({})
        self._report_unknown(table, (*ITEM_KEYS, "join_key"), "item.")
        values = self._read_values(table, ITEM_KEYS, "item")
        if "id" not in table:
            self._add_problem("item.id is required")
        return self._read_item_form(table, values)

    def _read_item_form(self, table: Mapping[str, Any], values: dict[str, Value]) -> ItemForm:
        """Read the options of the values of an item, which tell how to read the values."""
        messages = _get_options(table, "messages")
        golden = _get_options(table, "golden")
        golden_kind = self._read_choice(golden.get("kind"), GOLDEN_KINDS, "item.golden.kind")
        # A golden answer of the kind `messages` is the reference conversation itself.
        reference = golden if golden_kind == "messages" else _get_options(table, "golden_messages")
        # The dialect of tools is only checked, because all dialects are read alike.
        self._read_dialect(_get_options(table, "tools"), "item.tools")
        error = _get_options(table, "error")
        error_kind = self._read_choice(error.get("kind"), ERROR_KINDS, "item.error.kind")

        return ItemForm(
            values,
            rule=self._read_verdict_rule(table.get("verdict"), "item.verdict"),
            dialect=self._read_dialect(messages, "item.messages"),
            tags=self._read_choice(messages.get("tags"), tuple(STYLES), "item.messages.tags"),
            golden_kind=golden_kind or "calls",
            golden_dialect=self._read_dialect(reference, "item.golden"),
            golden_calls=self._read_call_form(golden, "item.golden"),
            calls=self._read_call_form(_get_options(table, "calls"), "item.calls"),
            error_kind=error_kind or "infrastructure",
            join_key=self._read_value(table.get("join_key"), "item.join_key"),
        )

    def _read_dialect(self, options: Mapping[str, Any], place: str) -> str | None:
        """Return a dialect, or None if the messages show it."""
        choices = (AUTOMATIC, *list_dialects())
        dialect = self._read_choice(options.get("dialect"), choices, f"{place}.dialect")
        return None if dialect == AUTOMATIC else dialect

    def _read_call_form(self, options: Mapping[str, Any], place: str) -> CallForm:
        """Read where the name, the arguments, the id and the turn of a call are."""

        def read_path(name: str, default: str) -> Expression:
            expression = self._read_expression(options.get(name), f"{place}.{name}")
            return expression or compile_expression(default)

        return CallForm(
            read_path("call_name", "name"),
            arguments=read_path("call_arguments", "arguments"),
            id=read_path("call_id", "id"),
            turn=read_path("turn", "turn"),
        )

    # -- judges and people

    def _read_opinions(
        self, name: str, keys: tuple[str, ...], joins: Mapping[str, Join]
    ) -> Iterator[Opinion]:
        """Yield the tables of judges or annotators, which say where their verdicts are."""
        for index, table in self._list_tables(name):
            place = f"{name}[{index}]"
            self._report_unknown(table, keys, f"{place}.")
            values = self._read_values(table, keys, place)
            for required in ("name", "verdict"):
                if required not in table:
                    self._add_problem(f"{place}.{required} is required")
            join = self._find_join(values, place, joins)
            rule = self._read_verdict_rule(table.get("verdict"), f"{place}.verdict")
            yield Opinion(place, values, rule=rule, join=join)

    def _find_join(self, values: Mapping[str, Value], place: str, joins: Mapping[str, Join]) -> str:
        """Return the join of a judge or person: one of its values names it, and all are in it."""
        names = sorted({value.join for value in values.values() if value.join})
        if not names:
            return ""
        if len(names) > 1:
            self._add_problem(f"{place}: the values are in several joins ({', '.join(names)})")
        if names[0] not in joins:
            self._add_problem(f"{place}: there is no join {names[0]}")
        return names[0]

    # -- values

    def _read_values(
        self, table: Mapping[str, Any], keys: tuple[str, ...], place: str
    ) -> dict[str, Value]:
        """Return the values of a table that are there and have no mistake, by key."""
        values: dict[str, Value] = {}
        for key in keys:
            value = self._read_value(table.get(key), f"{place}.{key}", OPTIONS.get(key, ()))
            if value is not None:
                values[key] = value
        return values

    def _read_value(
        self, written: Any, place: str, more_options: tuple[str, ...] = ()
    ) -> Value | None:
        """Read where a value is: a path, or a table. Return None without one, or with a
        mistake."""
        if written is None:
            return None
        if isinstance(written, str):
            expression = self._read_expression(written, place)
            return None if expression is None else Value(place, "path", expression)
        if not isinstance(written, dict):
            self._add_problem(f"{place} must be a path (a text) or a table")
            return None

        self._report_unknown(written, (*VALUE_OPTIONS, *more_options), f"{place}.")
        sources = [source for source in VALUE_SOURCES if source in written]
        if len(sources) != 1:
            self._add_problem(f"{place} needs exactly one of {', '.join(VALUE_SOURCES)}")
            return None
        return self._read_value_table(written, sources[0], place)

    def _read_value_table(
        self, written: Mapping[str, Any], source: ValueSource, place: str
    ) -> Value | None:
        """Read a value that is written as a table: where it comes from, and how it is parsed. None
        if it is invalid.
        """
        join = written.get("from", "")
        if not isinstance(join, str):
            self._add_problem(f"{place}.from must be the name of a join")
            join = ""
        parser = self._read_choice(written.get("parse"), PARSERS, f"{place}.parse")
        value = self._read_source(written[source], source, place)
        if value is None:
            return None
        return replace(value, join=join, parser=parser)

    def _read_source(self, content: Any, source: ValueSource, place: str) -> Value | None:
        """Read where a value comes from: an expression, a mark, or a text. None if it is
        invalid.
        """
        if source in ("path", "doc"):
            expression = self._read_expression(content, place)
            return None if expression is None else Value(place, source, expression)

        if source in ("entry", "index"):
            if content is not True:
                self._add_problem(f"{place}.{source} must be true")
                return None
            return Value(place, source)

        if not isinstance(content, str) or not content:
            self._add_problem(f"{place}.{source} must be a text")
            return None
        return Value(place, source, text=content)

    def _read_expression(self, written: Any, place: str) -> Expression | None:
        """Compile a path such as `messages[0].content`. None if it is missing or invalid."""
        if written is None:
            return None
        if not isinstance(written, str):
            self._add_problem(f"{place} must be a path (a text)")
            return None
        try:
            return compile_expression(written)
        except InvalidExpression as error:
            self._add_problem(f"{place}: {error}")
            return None

    def _read_pattern(self, written: Any, place: str) -> re.Pattern[str] | None:
        """Compile a regular expression. One that could take forever is refused."""
        if written is None:
            return None
        if not isinstance(written, str):
            self._add_problem(f"{place} must be a regular expression (a text)")
            return None

        n_repeats = len(_UNBOUNDED_REPEAT.findall(written))
        if n_repeats > MAX_REPEATS or _NESTED_REPEAT.search(written):
            self._add_problem(
                f"{place}: the regular expression has a repeat inside a repeated group, or more"
                f" than {MAX_REPEATS} repeats, so that a search could take forever"
            )
            return None

        try:
            return re.compile(written)
        except (re.error, RecursionError, OverflowError) as error:
            self._add_problem(f"{place}: `{written}` is not a regular expression ({error})")
            return None

    def _read_verdict_rule(self, written: Any, place: str) -> VerdictRule:
        """Read the rule that says which values of a verdict pass and which fail: two lists of
        values, or a number from which values pass.
        """
        if not isinstance(written, dict):
            return VerdictRule()

        pass_at = self._read_number(written.get("pass_at"), f"{place}.pass_at")
        if pass_at is not None and ("pass" in written or "fail" in written):
            self._add_problem(f"{place}: use pass_at, or pass and fail")
        passes = self._read_names(written.get("pass"), DEFAULT_PASS, f"{place}.pass")
        fails = self._read_names(written.get("fail"), DEFAULT_FAIL, f"{place}.fail")
        ambiguous = ", ".join(sorted(passes & fails))
        if ambiguous:
            self._add_problem(f"{place}: {ambiguous} is in pass and in fail")
        pattern = self._read_pattern(written.get("find"), f"{place}.find")
        return VerdictRule(passes, fails=fails, pass_at=pass_at, pattern=pattern)

    def _read_number(self, written: Any, place: str) -> float | None:
        if written is None:
            return None
        if not is_number(written):
            self._add_problem(f"{place} must be a number")
            return None
        return written

    def _read_names(self, written: Any, default: frozenset[str], place: str) -> frozenset[str]:
        if written is None:
            return default
        if not isinstance(written, list):
            self._add_problem(f"{place} must be a list of values")
            return default
        return frozenset(normalize_verdict_text(value) for value in written)

    def _read_choice(self, written: Any, choices: Sequence[Choice], place: str) -> Choice | None:
        """Return one of several names, or None without one or with a mistake."""
        if written is None:
            return None
        for choice in choices:
            if choice == written:
                return choice
        self._add_problem(f"{place}: {written!r} is not one of {', '.join(choices)}")
        return None


def _get_options(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the options of a value from its table, in which they stand beside the path of the
    value. Empty if only the path is given.
    """
    written = table.get(key)
    return written if isinstance(written, dict) else {}


def normalize_verdict_text(value: Any) -> str:
    """Return a value as a text without case and outer spaces. True is `true`, and 1.0 is `1`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip().lower()
