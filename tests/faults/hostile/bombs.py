"""Short replies that make a careless decoder use much time, memory or stack."""

from __future__ import annotations

N = 60_000

BOMBS = {
    "power": "[f(x=9**9**9)]",
    "powers": "[f(x=9**9**7, y=2**(2**31), z=10**-9**9)]",
    "shift": "[f(x=1<<99999999999)]",
    "repeated list": "[f(x=[0]*10**10)]",
    "repeated lists": "[f(x=[[[[0]*9999]*9999]*9999]*9999)]",
    "repeated text": "[f(x='a'*10**11)]",
    "a sum": f"[f(x={'+'.join(['1'] * N)})]",
    "signs": f"[f(x={'-' * N}1)]",
    "not": f"[f(x={'not ' * N}1)]",
    "compared": f"[f(x={'1<' * N}1)]",
    "parentheses": f"[f(x={'(' * N}1{')' * N})]",
    "lists": f"[f(x={'[' * N}{']' * N})]",
    "lists that do not end": "[f(x=" + "[" * N,
    "objects": "[f(x=" + '{"a":' * N + "1" + "}" * N + ")]",
    "attributes": f"[f(x={'a.' * N}b)]",
    "calls in calls": f"[f(x={'g(' * N}{')' * N})]",
    "lambdas": f"[f(x={'lambda:' * N}1)]",
    "many arguments": f"[f({','.join(f'a{n}=1' for n in range(N))})]",
    "one argument often": f"[f({','.join(['a=1'] * N)})]",
    "many calls": f"[{','.join(['f(x=1)'] * N)}]",
    "digits": f"[f(x={'9' * 900_000})]",
    "a large float": "[f(x=1e999999999, y=-1e999999999)]",
    "quotes": f"[f(x={chr(34) * (N + 1)})]",
    "backslashes": "[f(x='" + "\\" * (2 * N) + "')]",
    "commas": f"[f({',' * N})]",
    "equals": f"[f(a{'=' * N})]",
    "spaces": f"[f({' ' * 900_000})]",
    "lines": "\n" * 900_000 + "[f(x=1)]",
    "carriage returns": "\r\n" * 400_000,
    "tool calls": "<tool_call>" * N,
    "tool calls closed": "<tool_call>{}</tool_call>" * (N // 2),
    "functions": "<function=" * N,
    "function calls": "<functioncall>{'name':'f','arguments':'{}'}" * (N // 4),
    "JSON objects": '{"a":' * N,
    "JSON lists": "[" * N,
    "JSON names": '[{"name": "f", "arguments": ' * N,
    "names": '"name": ' * N,
    "semicolons": '{"name":"f","parameters":{}};' * (N // 4),
    "fences": "```" * N,
    "fences with json": "```json\n[" * N,
    "markup": "<a>" * N,
    "entities": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">'
    + "".join(
        f'<!ENTITY a{n + 1} "&a{n or ""};&a{n or ""};&a{n or ""};&a{n or ""};&a{n or ""};">'
        for n in range(20)
    )
    + "]><f>&a20;</f>",
    "a formatted text": '[f(x=f"{9**9**9}")]',
    "a comprehension": "[f(x=[0 for a in range(10**10)])]",
    "unpacking": "[f(*" + "[" * 1000 + ")]",
    "nothing and surrogates": "[f(x='\\x00\\ud800')]\x00\ud800",
    "new Java": "f(x=" + "new ArrayList<>(Arrays.asList(" * N,
    "JavaScript maps": "f({x:" * N,
    "thoughts": "Thought:\nAction:\nAction Input: {" * (N // 4),
    "dollars": "$" * N + "(" * N,
}
