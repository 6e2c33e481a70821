"""Only calls of known functions with literal arguments are executed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.importers.bfcl.execution.calls import CallNames, CallSafety, classify_call

NAMES = CallNames(methods={"cd", "echo"}, visible_names={"print", "open", "json", "__import__"})
LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # repr of a text can contain quotes, brackets and escapes
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.lists(LITERALS, max_size=2), st.dictionaries(st.sampled_from(["a", "b"]), LITERALS))
def test_calls_with_literals_are_safe(values: list[object], named: dict[str, object]) -> None:
    arguments = [repr(value) for value in values]
    arguments += [f"{name}={value!r}" for name, value in named.items()]
    assert classify_call(f"cd({', '.join(arguments)})", NAMES) is CallSafety.SAFE


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('id')",
        "cd(folder=__import__('os').getcwd())",
        "cd(folder=open('/etc/passwd').read())",
        "cd(cd('a'))",
        "cd(folder)",
        "cd(folder=f'{open}')",
        "cd(*[1])",
        "cd(**{'folder': 'a'})",
        "cd({**{'a': 1}})",
        "cd(9**9**9)",
        "cd('a' * 10**9)",
        "cd(lambda: 0)",
        "cd([x for x in ()])",
        "cd(not 1)",
        "cd(...)",
        "cd.__globals__('a')",
        "json.dumps({})",
        "print('a')",
        "(cd)('a') or 1",
        "cd('a'); cd('b')",
        "cd('a')\nimport os",
        "x = cd('a')",
        "(lambda: cd('a'))()",
        "cd('a')()",
        "cd('a'",
        "",
        "\0",
        "cd(" + "[" * 5000 + "]" * 5000 + ")",
        "cd('" + "a" * 200_000 + "')",
    ],
)
def test_other_texts_have_an_unknown_effect(text: str) -> None:
    assert classify_call(text, NAMES) is CallSafety.UNKNOWN


@pytest.mark.parametrize("text", ["unknown(a=open('x'))", "GorillaFileSystem.cd('a')", "kill()"])
def test_unknown_function_fails_before_anything_is_evaluated(text: str) -> None:
    assert classify_call(text, NAMES) is CallSafety.FAILS


def test_parentheses_around_a_known_function_change_nothing() -> None:
    assert classify_call("(cd)('a')", NAMES) is CallSafety.SAFE
