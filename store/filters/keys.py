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
from fcreview.model.verdict import FAULTY, PASS_FAIL, PASSING, REMARKS, ZERO_TO_TWO
from fcreview.store.filters.tokens import Term, Value
from fcreview.store.reviews.verdict_sql import AUTOMATIC_VERDICT, EFFECTIVE_VERDICT

_PASSING = ", ".join(f"'{criterion}'" for criterion in PASSING if criterion not in REMARKS)
_FAULTY = ", ".join(f"'{criterion}'" for criterion in FAULTY)
_REMARKS = ", ".join(f"'{criterion}'" for criterion in REMARKS)
_SCORES = ", ".join(f"'{criterion}'" for criterion in ZERO_TO_TWO)
_VALUE = 'CAST(v."value" AS VARCHAR)'


def some_verdict(condition: str) -> str:
    """Some automatic verdict `v` of the item is so."""
    return f"len([v FOR v IN coalesce(i.verdicts, []) IF {condition}]) > 0"


def _judge_says(right: str, wrong: str) -> str:
    plain = f"v.criterion IN ({_PASSING}) AND {_VALUE} = '{right}'"
    faulty = f"v.criterion IN ({_FAULTY}) AND {_VALUE} = '{wrong}'"
    return some_verdict(f"v.source = 'judge' AND (({plain}) OR ({faulty}))")


JUDGED = some_verdict(
    f"v.source = 'judge' AND v.criterion NOT IN ({_REMARKS}) AND (v.target <> '{ITEM}' OR v.criterion = '{CORRECT}')"
)
"""A judge said something of the item or a part of it that people can answer there."""
_FAILED = _judge_says("false", "true")
_PASSED = _judge_says("true", "false")
BY_JUDGE = {
    "pass": f"(i.judge OR (i.judge IS NULL AND {_PASSED} AND NOT {_FAILED}))",
    "fail": f"(NOT i.judge OR {_FAILED})",
    "unknown": f"(i.judge IS NULL AND NOT {JUDGED})",
    "none": f"(i.judge IS NULL AND NOT {JUDGED})",
    "any": f"(i.judge IS NOT NULL OR {JUDGED})",
}
"""What the judge says of the item or of its parts: one part that fails or is hallucinated fails all."""

_DIFFERING = (
    "list_sum([CASE WHEN p.golden IS NULL OR p.predicted IS NULL THEN 2"
    " ELSE len([d FOR d IN coalesce(p.diff, []) IF d.state IN ('!', '-', '+')]) END"
    " FOR p IN coalesce(i.pairs, [])])"
)
_MIDDLE = some_verdict(f"v.source = 'judge' AND v.criterion IN ({_SCORES}) AND {_VALUE} = '1'")
NEAR_MISS = f"(({AUTOMATIC_VERDICT} = false AND {_DIFFERING} = 1) OR {_MIDDLE})"


LONGEST = 10_000
"""Characters: DuckDB refuses an expression of a million."""


def itself(text: str) -> str:
    """A regular expression of DuckDB's that finds this text: a third to a quarter of what it takes to make all of a
    long text small and look there. İ is an i to it as it is to `lower`."""
    return re.sub("[iIİ]", "[iİ]", re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text))


Sql = tuple[str, list[object]]
"""A condition and the values of its question marks, in order."""


class BadValueError(ValueError):
    """A value that the key cannot have; the message is for people."""

    def __init__(self, message: str, value: Value) -> None:
        super().__init__(message)
        self.value = value


@dataclass(frozen=True, slots=True)
class Key:
    sql: Callable[[Term], Sql]
    help: str
    verdict: bool = False
    """Tells, or hints at, what others found: not to be used in blind mode."""
    reviews: bool = False
    """Depends on reviews, so its answer changes while people work."""
    choices: tuple[str, ...] = ()
    """The values that it may have, where that is fixed."""


ERROR = "coalesce(nullif(i.error_type, ''), CASE WHEN i.official IS NOT TRUE THEN i.rule_error_type END)"
"""The official error type, or the rule's where the benchmark does not pass the item and gives none."""
DISAGREE = (
    "((i.official IS NOT NULL AND i.rule IS NOT NULL AND i.official <> i.rule)"
    " OR (i.judge IS NOT NULL AND i.judge <> coalesce(i.official, i.rule)))"
)


def match(column: str, value: Value) -> Sql:
    """Quoted: exactly; a digest likewise. `none`: empty. Else without regard to case, `*` for any characters, and up to
    the next colon (`value_error` also finds `value_error:string`)."""
    if value.quoted:
        return f"{column} = ?", [value.text]
    if value.digest:
        return f"md5({column}) = ?", [value.digest]
    if value.text.lower() == "none":
        return f"({column} IS NULL OR {column} = '')", []
    if "*" in value.text:
        return f"lower({column}) LIKE lower(?) ESCAPE '\\'", [_like(value.text)]
    return f"(lower({column}) = lower(?) OR starts_with(lower({column}), lower(?)))", [value.text, value.text + ":"]


def beginning(column: str, value: Value) -> Sql:
    """As `match`, and up to the next sign that is no letter or digit: `live` also finds `live_simple`."""
    if value.quoted or value.digest or "*" in value.text or value.text.lower() == "none":
        return match(column, value)
    rest = f"substr({column}, {len(value.text) + 1})"
    return f"(starts_with(lower({column}), lower(?)) AND NOT regexp_matches({rest}, '^[A-Za-z0-9]'))", [value.text]


def any_of(term: Term, one: Callable[[Value], Sql]) -> Sql:
    parts = [one(value) for value in term.values]
    text = "(" + " OR ".join(sql for sql, _ in parts) + ")"
    bound = [value for _, values in parts for value in values]
    if term.op == "!=":
        return f"NOT coalesce({text}, false)", bound
    if term.op not in (":", "="):
        raise BadValueError(f"{term.key} is not a number: use {term.key}:value", term.values[0])
    return text, bound


def value_key(column: str) -> Callable[[Term], Sql]:
    """JSON as it reads: `golden_value:km` also finds `"km"`; in quotation marks, those of the JSON are a part of it."""
    bare = f"trim({column}, '\"')"
    return lambda term: any_of(term, lambda value: match(column if value.quoted or value.digest else bare, value))


def text_key(column: str) -> Callable[[Term], Sql]:
    return lambda term: any_of(term, lambda value: match(column, value))


def run_key(column: str) -> Callable[[Term], Sql]:
    def sql(term: Term) -> Sql:
        text, bound = any_of(term, lambda value: match(column, value))
        return f"i.run IN (SELECT run FROM runs WHERE {text})", bound

    return sql


def run_itself(term: Term) -> Sql:
    """By number, or by a part of its path."""

    def one(value: Value) -> Sql:
        if not value.quoted and value.text.isascii() and value.text.isdigit() and len(value.text) < 10:
            return "i.run = ?", [int(value.text)]
        return "i.run IN (SELECT run FROM runs WHERE contains(lower(path), lower(?)))", [value.text]

    return any_of(term, one)


def numbered(term: Term) -> Sql:
    """As one list, which may be long."""
    wanted = []
    for value in term.values:
        if not (value.text.isascii() and value.text.isdigit() and len(value.text) < 19):
            raise BadValueError(f"{value.text[:40]!r} is not the number of an item", value)
        wanted.append(int(value.text))
    text = "i.item IN (SELECT unnest(?::BIGINT[]))"
    return f"NOT {text}" if term.op == "!=" else text, [wanted]


DISPUTED = "h.decided_by = 'disputed'"
_BOOLEANS = {"pass": "{} = true", "fail": "{} = false", "unknown": "{} IS NULL", "none": "{} IS NULL"}
_PARTS = "h.n_parts"
"""Parts of the item and other criteria that somebody judged."""
_HUMANS = {
    **{word: f"{{}} = '{json.dumps(value)}'" for word, value in PASS_FAIL.items()},
    "disputed": DISPUTED,
    "unknown": "{} IS NULL",
    "none": "{} IS NULL",
    "any": f"({{}} IS NOT NULL OR {_PARTS} > 0)",
    "part": f"({{}} IS NULL AND {_PARTS} > 0)",
}
_YOURS = {word: text.replace(_PARTS, "h.your_parts") for word, text in _HUMANS.items()}


def choice(column: str, choices: dict[str, str]) -> Callable[[Term], Sql]:
    def one(value: Value) -> Sql:
        condition = choices.get(value.text.lower())
        if condition is None:
            raise BadValueError(f"one of {', '.join(choices)}", value)
        return "(" + condition.format(column) + ")", []

    return lambda term: any_of(term, one)


def number(column: str) -> Callable[[Term], Sql]:
    def sql(term: Term) -> Sql:
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


def contains(texts: str, among: str = "") -> Callable[[Term], Sql]:
    """Some text of the item has this in it, without regard to case. `among`: a column that lists what has the texts;
    looked through in its place, as joining items with the lists taken apart takes a third more."""
    names = texts.split()

    def one(value: Value) -> Sql:
        if len(value.text) > LONGEST:
            raise BadValueError(f"more than {LONGEST:,} characters", value)
        hits = " OR ".join(f"regexp_matches({'one.' if among else ''}{name}, ?, 'i')" for name in names)
        text = f"len(list_filter({among}, lambda one: {hits})) > 0" if among else f"({hits})"
        return text, [itself(value.text)] * len(names)

    return lambda term: any_of(term, one)


def everywhere(term: Term) -> Sql:
    """Question, messages and calls."""
    searched = (("i.question", ""), ("content", "i.messages"), ("name arguments raw", "i.calls"))

    def one(value: Value) -> Sql:
        single = Term(term.key, ":", (value,), value.position)
        parts = [contains(texts, among)(single) for texts, among in searched]
        return " OR ".join(sql for sql, _ in parts), [bound for _, values in parts for bound in values]

    return any_of(term, one)


def called(term: Term) -> Sql:
    text, bound = any_of(term, lambda value: match("name", value))
    return f"i.item IN (SELECT item FROM calls WHERE {text})", bound


def reviewed_with(column: str, *, many: bool) -> Callable[[Term], Sql]:
    """Something that annotators said of the item or a part of it."""

    def sql(term: Term) -> Sql:
        source = f"(SELECT item, unnest({column}) AS said FROM human_labels)" if many else "human_labels"
        text, bound = any_of(term, lambda value: match("said" if many else column, value))
        return f"i.item IN (SELECT item FROM {source} WHERE {text})", bound

    return sql


def judged_on(term: Term) -> Sql:
    text, bound = any_of(term, lambda value: match("v.criterion", value))
    return f"i.item IN (SELECT item FROM verdicts v WHERE {text})", bound


def scored(term: Term) -> Sql:
    """Truth values are no numbers: their JSON is not cast to one."""
    text, bound = number('TRY_CAST(CAST(v."value" AS VARCHAR) AS DOUBLE)')(term)
    return f"i.item IN (SELECT item FROM verdicts v WHERE {text})", bound


KEYS: dict[str, Key] = {
    "official": Key(choice("i.official", _BOOLEANS), "pass, fail or unknown", True, choices=tuple(_BOOLEANS)),
    "rule": Key(choice("i.rule", _BOOLEANS), "pass, fail or unknown", True, choices=tuple(_BOOLEANS)),
    "judge": Key(
        choice("i.judge", BY_JUDGE),
        "of the item or a part of it: pass, fail, any or unknown",
        True,
        choices=tuple(BY_JUDGE),
    ),
    "criterion": Key(judged_on, "on which there is an automatic verdict: equivalent, dialog_act ...", verdict=True),
    "score": Key(scored, "a number that the benchmark gave, 0 to 2 or 0 to 1", verdict=True),
    "you": Key(
        choice("h.you", _YOURS), "your verdict: pass, fail, unsure, part, none or any", False, True, tuple(_YOURS)
    ),
    "human": Key(
        choice("h.human", _HUMANS),
        "of all: pass, fail, unsure, disputed, part, none or any",
        True,
        True,
        tuple(_HUMANS),
    ),
    "effective": Key(
        choice(EFFECTIVE_VERDICT, _BOOLEANS | {"disputed": DISPUTED}),
        "after review: pass, fail, unknown or disputed",
        True,
        True,
        (*_BOOLEANS, "disputed"),
    ),
    "error": Key(text_key(ERROR), "error type: official, else recomputed", verdict=True),
    "rule_error": Key(text_key("i.rule_error_type"), "recomputed error type", verdict=True),
    "function": Key(text_key("i.diff_function"), "function of the first difference", verdict=True),
    "argument": Key(text_key("i.diff_argument"), "argument of the first difference", verdict=True),
    "golden_value": Key(value_key("i.diff_golden"), "golden value of the first difference", verdict=True),
    "predicted_value": Key(value_key("i.diff_predicted"), "predicted value of the first difference", verdict=True),
    "calls": Key(called, "name of any golden or predicted call"),
    "category": Key(lambda term: any_of(term, partial(beginning, "i.category")), "category, or its first words"),
    "group": Key(text_key('i."group"'), "conversation"),
    "id": Key(text_key("i.id"), "item id"),
    "item": Key(numbered, "number in the store: what agreement's figures open"),
    "run": Key(run_itself, "number of the run, or part of its path"),
    "model": Key(run_key("model"), "model"),
    "benchmark": Key(run_key("benchmark"), "benchmark"),
    "generation": Key(run_key("generation"), "generation of the benchmark"),
    "language": Key(run_key("language"), "language of the dataset"),
    "text": Key(everywhere, "in the question, messages or calls"),
    "tag": Key(reviewed_with("tags", many=True), "error tag of a review", True, True),
    "fault": Key(reviewed_with("fault", many=False), "who is wrong by review", True, True),
    "annotator": Key(reviewed_with("annotators", many=True), "who reviewed it", True, True),
    "golden": Key(number("i.n_golden"), "number of golden calls"),
    "predicted": Key(number("i.n_predicted"), "number of predicted calls"),
    "turns": Key(number("i.n_turns"), "number of turns"),
    "steps": Key(number("i.n_steps"), "number of the model's steps"),
    "tokens": Key(number("(coalesce(i.tokens_in, 0) + coalesce(i.tokens_out, 0))"), "tokens in and out"),
    "latency": Key(number("i.latency"), "seconds"),
    "issues": Key(number("i.n_issues"), "number of import issues", verdict=True),
}

FLAGS: dict[str, tuple[str, str, bool, bool]] = {
    "reviewed": ("h.you IS NOT NULL", "you gave a verdict", False, True),
    "stale": ("h.your_stale", "you reviewed it before the prediction or golden answer changed", False, True),
    "disagree": (DISAGREE, "official, rule and judge are not of one mind", True, False),
    "disputed": (DISPUTED, "annotators differ", True, True),
    "adjudicated": ("h.decided_by = 'adjudication'", "settled by an adjudicator", True, True),
    "issues": ("i.n_issues > 0", "something could not be read as it should", True, False),
}
"""Bare words with a meaning: condition, help, tells of verdicts, depends on reviews."""


def _number(value: Value) -> float:
    try:
        found = float(value.text)
    except ValueError:
        found = float("nan")
    if found != found or abs(found) == float("inf"):
        raise BadValueError(f"{value.text[:40]!r} is not a number", value)
    return found


def _like(text: str) -> str:
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text.replace("*", "%")
