"""What the keys of the filter language mean, as SQL over `item_rows i LEFT JOIN human h`. Values are always bound.

Verdicts on parts and on other criteria, as SQL over `item_rows i`: what a judge said, scores, and near misses.

A near miss (`--queue uncertain`): an item that fails by the verdict that counts before reviews, though its calls pair
off one to one and just one argument differs; or one that a judge scored between the ends of a scale (1 of 0 to 2).

Texts that are looked for without regard to case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fcreview.model.address import ITEM
from fcreview.model.review import CORRECT
from fcreview.model.verdict import TRUE_MEANS_FAILURE, PASS_FAIL, PASS_FAIL_CRITERIA, JUDGE_NOTE_CRITERIA, ZERO_TO_TWO_CRITERIA
from fcreview.store.filters.tokens import FilterTerm, FilterValue
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT, EFFECTIVE_VERDICT

_PASSING = ", ".join(f"'{criterion}'" for criterion in PASS_FAIL_CRITERIA if criterion not in JUDGE_NOTE_CRITERIA)
_FAULTY = ", ".join(f"'{criterion}'" for criterion in TRUE_MEANS_FAILURE)
_REMARKS = ", ".join(f"'{criterion}'" for criterion in JUDGE_NOTE_CRITERIA)
_SCORES = ", ".join(f"'{criterion}'" for criterion in ZERO_TO_TWO_CRITERIA)
_VALUE = 'CAST(v."value" AS VARCHAR)'


def any_verdict_sql(condition: str) -> str:
    """Some automatic verdict `v` of the item is so."""
    return f"len([v FOR v IN coalesce(i.verdicts, []) IF {condition}]) > 0"


def _judge_says(right: str, wrong: str) -> str:
    plain = f"v.criterion IN ({_PASSING}) AND {_VALUE} = '{right}'"
    faulty = f"v.criterion IN ({_FAULTY}) AND {_VALUE} = '{wrong}'"
    return any_verdict_sql(f"v.source = 'judge' AND (({plain}) OR ({faulty}))")


HAS_JUDGE_VERDICT = any_verdict_sql(
    f"v.source = 'judge' AND v.criterion NOT IN ({_REMARKS}) AND (v.target <> '{ITEM}' OR v.criterion = '{CORRECT}')"
)
"""A judge said something of the item or a part of it that people can answer there."""
_FAILED = _judge_says("false", "true")
_PASSED = _judge_says("true", "false")
JUDGE_CONDITIONS = {
    "pass": f"(i.judge OR (i.judge IS NULL AND {_PASSED} AND NOT {_FAILED}))",
    "fail": f"(NOT i.judge OR {_FAILED})",
    "unknown": f"(i.judge IS NULL AND NOT {HAS_JUDGE_VERDICT})",
    "none": f"(i.judge IS NULL AND NOT {HAS_JUDGE_VERDICT})",
    "any": f"(i.judge IS NOT NULL OR {HAS_JUDGE_VERDICT})",
}
"""What the judge says of the item or of its parts: one part that fails or is hallucinated fails all."""

_DIFFERING = (
    "list_sum([CASE WHEN p.golden IS NULL OR p.predicted IS NULL THEN 2"
    " ELSE len([d FOR d IN coalesce(p.diff, []) IF d.state IN ('!', '-', '+')]) END"
    " FOR p IN coalesce(i.pairs, [])])"
)
_MIDDLE = any_verdict_sql(f"v.source = 'judge' AND v.criterion IN ({_SCORES}) AND {_VALUE} = '1'")
NEAR_MISS = f"(({AUTOMATIC_VERDICT} = false AND {_DIFFERING} = 1) OR {_MIDDLE})"


MAX_SEARCH_LENGTH = 10_000
"""Characters: DuckDB refuses an expression of a million."""


def escape_regex(text: str) -> str:
    """A regular expression of DuckDB's that finds this text: a third to a quarter of what it takes to make all of a
    long text small and look there. İ is an i to it as it is to `lower`."""
    return re.sub("[iIİ]", "[iİ]", re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text))


SqlCondition = tuple[str, list[object]]
"""A condition and the values of its question marks, in order."""


class InvalidValueError(ValueError):
    """A value that the key cannot have; the message is for people."""

    def __init__(self, message: str, value: FilterValue) -> None:
        super().__init__(message)
        self.value = value


@dataclass(frozen=True, slots=True)
class FilterKey:
    build: Callable[[FilterTerm], SqlCondition]
    help: str
    shows_verdict: bool = False
    """Tells, or hints at, what others found: not to be used in blind mode."""
    depends_on_reviews: bool = False
    """Depends on reviews, so its answer changes while people work."""
    choices: tuple[str, ...] = ()
    """The values that it may have, where that is fixed."""


ERROR_TYPE_SQL = "coalesce(nullif(i.error_type, ''), CASE WHEN i.official IS NOT TRUE THEN i.rule_error_type END)"
"""The official error type, or the rule's where the benchmark does not pass the item and gives none."""
AUTOMATIC_DISAGREEMENT_SQL = (
    "((i.official IS NOT NULL AND i.rule IS NOT NULL AND i.official <> i.rule)"
    " OR (i.judge IS NOT NULL AND i.judge <> coalesce(i.official, i.rule)))"
)


def compare_text(column: str, value: FilterValue) -> SqlCondition:
    """Quoted: exactly; a digest likewise. `none`: empty. Else without regard to case, `*` for any characters, and up to
    the next colon (`value_error` also finds `value_error:string`)."""
    if value.quoted:
        return f"{column} = ?", [value.text]
    if value.md5_digest:
        return f"md5({column}) = ?", [value.md5_digest]
    if value.text.lower() == "none":
        return f"({column} IS NULL OR {column} = '')", []
    if "*" in value.text:
        return f"lower({column}) LIKE lower(?) ESCAPE '\\'", [_like(value.text)]
    return f"(lower({column}) = lower(?) OR starts_with(lower({column}), lower(?)))", [value.text, value.text + ":"]


def compare_prefix(column: str, value: FilterValue) -> SqlCondition:
    """As `match`, and up to the next sign that is no letter or digit: `live` also finds `live_simple`."""
    if value.quoted or value.md5_digest or "*" in value.text or value.text.lower() == "none":
        return compare_text(column, value)
    rest = f"substr({column}, {len(value.text) + 1})"
    return f"(starts_with(lower({column}), lower(?)) AND NOT regexp_matches({rest}, '^[A-Za-z0-9]'))", [value.text]


def combine_values(term: FilterTerm, compare: Callable[[FilterValue], SqlCondition]) -> SqlCondition:
    parts = [compare(value) for value in term.values]
    text = "(" + " OR ".join(sql for sql, _ in parts) + ")"
    bound = [value for _, values in parts for value in values]
    if term.op == "!=":
        return f"NOT coalesce({text}, false)", bound
    if term.op not in (":", "="):
        raise InvalidValueError(f"{term.key} is not a number: use {term.key}:value", term.values[0])
    return text, bound


def match_json_column(column: str) -> Callable[[FilterTerm], SqlCondition]:
    """JSON as it reads: `golden_value:km` also finds `"km"`; in quotation marks, those of the JSON are a part of it."""
    bare = f"trim({column}, '\"')"
    return lambda term: combine_values(term, lambda value: compare_text(column if value.quoted or value.md5_digest else bare, value))


def match_text_column(column: str) -> Callable[[FilterTerm], SqlCondition]:
    return lambda term: combine_values(term, lambda value: compare_text(column, value))


def match_run_column(column: str) -> Callable[[FilterTerm], SqlCondition]:
    def sql(term: FilterTerm) -> SqlCondition:
        text, bound = combine_values(term, lambda value: compare_text(column, value))
        return f"i.run IN (SELECT run FROM runs WHERE {text})", bound

    return sql


def match_run(term: FilterTerm) -> SqlCondition:
    """By number, or by a part of its path."""

    def one(value: FilterValue) -> SqlCondition:
        if not value.quoted and value.text.isascii() and value.text.isdigit() and len(value.text) < 10:
            return "i.run = ?", [int(value.text)]
        return "i.run IN (SELECT run FROM runs WHERE contains(lower(path), lower(?)))", [value.text]

    return combine_values(term, one)


def match_item(term: FilterTerm) -> SqlCondition:
    """As one list, which may be long."""
    wanted = []
    for value in term.values:
        if not (value.text.isascii() and value.text.isdigit() and len(value.text) < 19):
            raise InvalidValueError(f"{value.text[:40]!r} is not the number of an item", value)
        wanted.append(int(value.text))
    text = "i.item IN (SELECT unnest(?::BIGINT[]))"
    return f"NOT {text}" if term.op == "!=" else text, [wanted]


IS_DISPUTED = "h.decided_by = 'disputed'"
_BOOLEANS = {"pass": "{} = true", "fail": "{} = false", "unknown": "{} IS NULL", "none": "{} IS NULL"}
_PARTS = "h.n_parts"
"""Parts of the item and other criteria that somebody judged."""
_HUMANS = {
    **{word: f"{{}} = '{json.dumps(value)}'" for word, value in PASS_FAIL.items()},
    "disputed": IS_DISPUTED,
    "unknown": "{} IS NULL",
    "none": "{} IS NULL",
    "any": f"({{}} IS NOT NULL OR {_PARTS} > 0)",
    "part": f"({{}} IS NULL AND {_PARTS} > 0)",
}
_YOURS = {word: text.replace(_PARTS, "h.your_parts") for word, text in _HUMANS.items()}


def match_choice(column: str, conditions: dict[str, str]) -> Callable[[FilterTerm], SqlCondition]:
    def one(value: FilterValue) -> SqlCondition:
        condition = conditions.get(value.text.lower())
        if condition is None:
            raise InvalidValueError(f"one of {', '.join(conditions)}", value)
        return "(" + condition.format(column) + ")", []

    return lambda term: combine_values(term, one)


def match_number(column: str) -> Callable[[FilterTerm], SqlCondition]:
    def sql(term: FilterTerm) -> SqlCondition:
        op = "=" if term.op == ":" else term.op
        parts, bound = [], []
        for value in term.values:
            if value.text.lower() == "none" and op == "=":
                parts.append(f"{column} IS NULL")
                continue
            bound.append(_number(value))
            parts.append(f"{column} {op} ?")
        return "(" + (" AND " if op == "!=" else " OR ").join(parts) + ")", list(bound)

    return sql


def search_texts(columns: str, list_column: str = "") -> Callable[[FilterTerm], SqlCondition]:
    """Some text of the item has this in it, without regard to case. `among`: a column that lists what has the texts;
    looked through in its place, as joining items with the lists taken apart takes a third more."""
    names = columns.split()

    def one(value: FilterValue) -> SqlCondition:
        if len(value.text) > MAX_SEARCH_LENGTH:
            raise InvalidValueError(f"more than {MAX_SEARCH_LENGTH:,} characters", value)
        hits = " OR ".join(f"regexp_matches({'one.' if list_column else ''}{name}, ?, 'i')" for name in names)
        text = f"len(list_filter({list_column}, lambda one: {hits})) > 0" if list_column else f"({hits})"
        return text, [escape_regex(value.text)] * len(names)

    return lambda term: combine_values(term, one)


def search_all_texts(term: FilterTerm) -> SqlCondition:
    """Question, messages and calls."""
    searched = (("i.question", ""), ("content", "i.messages"), ("name arguments raw", "i.calls"))

    def one(value: FilterValue) -> SqlCondition:
        single = FilterTerm(term.key, ":", (value,), value.position)
        parts = [search_texts(texts, among)(single) for texts, among in searched]
        return " OR ".join(sql for sql, _ in parts), [bound for _, values in parts for bound in values]

    return combine_values(term, one)


def match_call(term: FilterTerm) -> SqlCondition:
    text, bound = combine_values(term, lambda value: compare_text("name", value))
    return f"i.item IN (SELECT item FROM calls WHERE {text})", bound


def match_review_field(column: str, *, is_list: bool) -> Callable[[FilterTerm], SqlCondition]:
    """Something that annotators said of the item or a part of it."""

    def sql(term: FilterTerm) -> SqlCondition:
        source = f"(SELECT item, unnest({column}) AS said FROM human_labels)" if is_list else "human_labels"
        text, bound = combine_values(term, lambda value: compare_text("said" if is_list else column, value))
        return f"i.item IN (SELECT item FROM {source} WHERE {text})", bound

    return sql


def match_criterion(term: FilterTerm) -> SqlCondition:
    text, bound = combine_values(term, lambda value: compare_text("v.criterion", value))
    return f"i.item IN (SELECT item FROM verdicts v WHERE {text})", bound


def match_score(term: FilterTerm) -> SqlCondition:
    """Truth values are no numbers: their JSON is not cast to one."""
    text, bound = match_number('TRY_CAST(CAST(v."value" AS VARCHAR) AS DOUBLE)')(term)
    return f"i.item IN (SELECT item FROM verdicts v WHERE {text})", bound


FILTER_KEYS: dict[str, FilterKey] = {
    "official": FilterKey(match_choice("i.official", _BOOLEANS), "pass, fail or unknown", True, choices=tuple(_BOOLEANS)),
    "rule": FilterKey(match_choice("i.rule", _BOOLEANS), "pass, fail or unknown", True, choices=tuple(_BOOLEANS)),
    "judge": FilterKey(
        match_choice("i.judge", JUDGE_CONDITIONS),
        "of the item or a part of it: pass, fail, any or unknown",
        True,
        choices=tuple(JUDGE_CONDITIONS),
    ),
    "criterion": FilterKey(match_criterion, "on which there is an automatic verdict: equivalent, dialog_act ...", shows_verdict=True),
    "score": FilterKey(match_score, "a number that the benchmark gave, 0 to 2 or 0 to 1", shows_verdict=True),
    "you": FilterKey(
        match_choice("h.you", _YOURS), "your verdict: pass, fail, unsure, part, none or any", False, True, tuple(_YOURS)
    ),
    "human": FilterKey(
        match_choice("h.human", _HUMANS),
        "of all: pass, fail, unsure, disputed, part, none or any",
        True,
        True,
        tuple(_HUMANS),
    ),
    "effective": FilterKey(
        match_choice(EFFECTIVE_VERDICT, _BOOLEANS | {"disputed": IS_DISPUTED}),
        "after review: pass, fail, unknown or disputed",
        True,
        True,
        (*_BOOLEANS, "disputed"),
    ),
    "error": FilterKey(match_text_column(ERROR_TYPE_SQL), "error type: official, else recomputed", shows_verdict=True),
    "rule_error": FilterKey(match_text_column("i.rule_error_type"), "recomputed error type", shows_verdict=True),
    "function": FilterKey(match_text_column("i.diff_function"), "function of the first difference", shows_verdict=True),
    "argument": FilterKey(match_text_column("i.diff_argument"), "argument of the first difference", shows_verdict=True),
    "golden_value": FilterKey(match_json_column("i.diff_golden"), "golden value of the first difference", shows_verdict=True),
    "predicted_value": FilterKey(match_json_column("i.diff_predicted"), "predicted value of the first difference", shows_verdict=True),
    "calls": FilterKey(match_call, "name of any golden or predicted call"),
    "category": FilterKey(lambda term: combine_values(term, partial(compare_prefix, "i.category")), "category, or its first words"),
    "group": FilterKey(match_text_column('i."group"'), "conversation"),
    "id": FilterKey(match_text_column("i.id"), "item id"),
    "item": FilterKey(match_item, "number in the store: what agreement's figures open"),
    "run": FilterKey(match_run, "number of the run, or part of its path"),
    "model": FilterKey(match_run_column("model"), "model"),
    "benchmark": FilterKey(match_run_column("benchmark"), "benchmark"),
    "generation": FilterKey(match_run_column("generation"), "generation of the benchmark"),
    "language": FilterKey(match_run_column("language"), "language of the dataset"),
    "text": FilterKey(search_all_texts, "in the question, messages or calls"),
    "tag": FilterKey(match_review_field("tags", is_list=True), "error tag of a review", True, True),
    "fault": FilterKey(match_review_field("fault", is_list=False), "who is wrong by review", True, True),
    "annotator": FilterKey(match_review_field("annotators", is_list=True), "who reviewed it", True, True),
    "golden": FilterKey(match_number("i.n_golden"), "number of golden calls"),
    "predicted": FilterKey(match_number("i.n_predicted"), "number of predicted calls"),
    "turns": FilterKey(match_number("i.n_turns"), "number of turns"),
    "steps": FilterKey(match_number("i.n_steps"), "number of the model's steps"),
    "tokens": FilterKey(match_number("(coalesce(i.tokens_in, 0) + coalesce(i.tokens_out, 0))"), "tokens in and out"),
    "latency": FilterKey(match_number("i.latency"), "seconds"),
    "issues": FilterKey(match_number("i.n_issues"), "number of import issues", shows_verdict=True),
}

FILTER_FLAGS: dict[str, tuple[str, str, bool, bool]] = {
    "reviewed": ("h.you IS NOT NULL", "you gave a verdict", False, True),
    "stale": ("h.your_stale", "you reviewed it before the prediction or golden answer changed", False, True),
    "disagree": (AUTOMATIC_DISAGREEMENT_SQL, "official, rule and judge are not of one mind", True, False),
    "disputed": (IS_DISPUTED, "annotators differ", True, True),
    "adjudicated": ("h.decided_by = 'adjudication'", "settled by an adjudicator", True, True),
    "issues": ("i.n_issues > 0", "something could not be read as it should", True, False),
}
"""Bare words with a meaning: condition, help, tells of verdicts, depends on reviews."""


def _number(value: FilterValue) -> float:
    try:
        found = float(value.text)
    except ValueError:
        found = float("nan")
    if found != found or abs(found) == float("inf"):
        raise InvalidValueError(f"{value.text[:40]!r} is not a number", value)
    return found


def _like(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text.replace("*", "%")
