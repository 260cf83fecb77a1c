"""Python code as an answer: a working function for a task, or failing code repaired.

A prompt in, source code out, always something that compiles. The code is
parsed, never run. What a repair does not understand becomes a new function
with the old signature.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from flowgauge.providers.mock.repair import repaired

_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)```", re.DOTALL)
_SIGNATURE = re.compile(r"def\s+(\w+)\s*\(([^)]*)\)(?:\s*->\s*([^:\n`]+))?")
_CALL = re.compile(r"\brun\(([\w\s,:\[\]]*)\)")
_CODE_LINE = re.compile(
    r"(\s|def |async def |class |import |from \w+ import|@|#|if |for |while |return |try:|except|with |[A-Za-z_]\w*\s*[=\[(.])"
)
_WANTS_CODE = re.compile(
    r"\bpython\b.*\b(function|code|program|script|def)\b|\b(function|code|program|script|def)\b.*\bpython\b|\bdef run\b",
    re.IGNORECASE | re.DOTALL,
)
_WANTS_REPAIR = re.compile(r"\b(repair|fix|correct|debug|fail(s|ed|ing)?)\b|Traceback|\w+Error\b", re.IGNORECASE)

_TASKS: tuple[tuple[str, str], ...] = (
    (r"fibonacci", "[round(((1 + 5**0.5) / 2) ** i / 5**0.5) for i in range(int(value))]"),
    (r"factorial", "__import__('math').factorial(int(value))"),
    (r"prime", "value > 1 and all(value % i for i in range(2, int(value**0.5) + 1))"),
    (r"palindrome", "[c for c in str(value).lower() if c.isalnum()] == [c for c in str(value).lower() if c.isalnum()][::-1]"),
    (r"revers", "value[::-1]"),
    (r"vowel", "sum(c in 'aeiou' for c in str(value).lower())"),
    (r"word", "len(str(value).split())"),
    (r"median", "__import__('statistics').median(values)"),
    (r"average|mean\b", "sum(values) / len(values) if values else 0"),
    (r"\b(sum|add|total)", "sum(values)"),
    (r"product|multipl", "__import__('math').prod(values)"),
    (r"maximum|largest|biggest|highest", "max(values)"),
    (r"minimum|smallest|lowest", "min(values)"),
    (r"unique|duplicate", "list(dict.fromkeys(values))"),
    (r"sort|order", "sorted(values)"),
    (r"\beven\b", "[item for item in values if item % 2 == 0]"),
    (r"\bodd\b", "[item for item in values if item % 2]"),
    (r"upper", "str(value).upper()"),
    (r"lower", "str(value).lower()"),
    (r"square", "value * value"),
    (r"count|length|how many", "len(value)"),
)  # fmt: skip


class Signature(NamedTuple):
    """How the asked function is called."""

    name: str
    parameters: str
    returns: str


def wants_code(text: str) -> bool:
    """Does the prompt ask for a Python function?"""
    return bool(_WANTS_CODE.search(text[:20_000]))


def wants_repair(text: str) -> bool:
    """Does the prompt hold failing code and ask for better?"""
    return bool(_WANTS_REPAIR.search(text[:20_000])) and code_in(text) is not None


def code_in(text: str) -> str | None:
    """The code that a prompt quotes: fenced, or lines that read as code."""
    for block in _FENCE.findall(text):
        if "def " in block:
            return str(block)
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if re.match(r"(async )?def \w+\s*\(|import \w|from \w+ import", line)), None)
    if start is None:
        return None
    end = start
    while end < len(lines) and (not lines[end].strip() or _CODE_LINE.match(lines[end])):
        end += 1
    code = "\n".join(lines[start:end]).rstrip() + "\n"
    return code if "def " in code else None


def written(text: str) -> str:
    """A working function for the task that the prompt names, fenced."""
    return _fenced(_function(_signature(text), text))


def mended(text: str) -> str:
    """The quoted code, changed as little as its error needs, fenced."""
    code = code_in(text) or ""
    better = repaired(code, text.replace(code, ""))
    return _fenced(better if better is not None else _function(_signature(code), text.replace(code, "")))


def _fenced(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```"


def _signature(text: str) -> Signature:
    found = _SIGNATURE.search(text)
    if found:
        parameters = found[2].strip()
        return Signature(found[1], parameters if _compiles(f"def f({parameters}): pass") else "*args, **kwargs", (found[3] or "").strip())
    call = _CALL.search(text)
    if call and call[1].strip() and _compiles(f"def f({call[1]}): pass"):
        return Signature("run", call[1].strip(), "")
    return Signature("run", "*args, **kwargs", "dict" if re.search(r"\bdict(ionary)?\b", text) else "")


def _function(signature: Signature, text: str) -> str:
    names = [name for name in (re.match(r"\s*(\**\w+)", part) for part in _split(signature.parameters)) if name]
    plain = [name[1] for name in names if not name[1].startswith("*")]
    expression = next((code for pattern, code in _TASKS if re.search(pattern, text, re.IGNORECASE)), None)
    listed = ", ".join([*plain, *(["*args", "*kwargs.values()"] if "*args" in signature.parameters else [])])
    body = [f"given = [{listed}]", "value = given[0] if given else None"]
    if expression and "values" in expression:
        body.append("values = list(value) if len(given) == 1 and isinstance(value, (list, tuple, set)) else given")
    if expression is None:
        expression = "{" + ", ".join(f'"{name}": {name}' for name in plain) + "}" if plain else "value"
        body = body if not plain else []
    as_object = signature.returns.startswith(("dict", "Dict")) and not expression.startswith("{")
    returns = f" -> {signature.returns}" if signature.returns in {"dict", "list", "str", "int", "float", "bool"} else ""
    body.append(f'return {{"result": {expression}}}' if as_object else f"return {expression}")
    return f"def {signature.name}({signature.parameters}){returns}:\n" + "".join(f"    {line}\n" for line in body)


def _split(parameters: str) -> list[str]:
    """At commas that stand in no bracket."""
    parts, depth = [""], 0
    for char in parameters:
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part.strip() and part.strip() != "*"]


def _compiles(code: str) -> bool:
    try:
        compile(code, "<mock>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
