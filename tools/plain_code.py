"""Checks of plain code that the linter does not have: `python tools/plain_code.py PATH ...`.

A function has at most 60 lines. A comprehension has one `for` and at most one `if`, and holds no
other comprehension. A conditional expression holds no other one. A module opens with a docstring
whose first sentence is not a question. A line with `# plain: REASON` on it is excepted, where a
function's line is its first.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LINES = 60
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def faults(path: Path) -> Iterator[tuple[int, str]]:
    """Each fault of one file: its line and what is wrong."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    opening = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    if not opening:
        yield 1, "the module has no docstring"
    elif opening.rstrip().endswith("?"):
        yield 1, "the module's docstring opens with a question"
    excepted = {n for n, line in enumerate(text.split("\n"), 1) if "# plain: " in line}
    for node in ast.walk(tree):
        fault = _fault(node)
        if fault and node.lineno not in excepted:  # type: ignore[attr-defined]
            yield node.lineno, fault  # type: ignore[attr-defined]


def _fault(node: ast.AST) -> str:
    """What is wrong with one node, "" for nothing."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        return f"{node.name} has {lines} lines, more than {LINES}" if lines > LINES else ""
    if isinstance(node, COMPREHENSIONS):
        if len(node.generators) > 1 or any(len(each.ifs) > 1 for each in node.generators):
            return "a comprehension with more than one `for` or `if`"
        if _holds(node, COMPREHENSIONS):
            return "a comprehension inside a comprehension"
    if isinstance(node, ast.IfExp) and _holds(node, (ast.IfExp,)):
        return "a conditional expression inside a conditional expression"
    return ""


def _holds(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether a node of one of these kinds is inside the node."""
    return any(isinstance(each, kinds) for each in ast.walk(node) if each is not node)


def main(arguments: list[str]) -> int:
    """Print every fault of the files under these paths; 1 where there is one."""
    count = 0
    for argument in arguments:
        path = Path(argument)
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for line, fault in faults(file):
                print(f"{file}:{line}: {fault}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
