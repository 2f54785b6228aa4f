"""The examples of the README and the docs: run them, compare them with what is printed, or write them anew.

``python tools/docs_examples.py`` rewrites the output of every example; the tests compare. An example is a line
``$ infer-cost ...`` in a ``console`` block; what follows up to the next such line or the block's end is its output.
A line ``...`` in it stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMPT = "$ infer-cost "
BLOCK = re.compile(r"(?P<skip><!-- not run -->\n)?```console\n(?P<body>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One command in a document and the output shown under it."""

    document: Path
    command: str
    shown: str


def documents() -> list[Path]:
    """Every page whose examples are checked."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(document: Path) -> list[str]:
    """Return the Python code of a document, block by block."""
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)


def split(body: str) -> list[tuple[str, str]]:
    """Split a block into commands (joined over backslashes) and their outputs."""
    found: list[tuple[str, str]] = []
    lines = body.splitlines()
    position = 0
    while position < len(lines):
        command = lines[position]
        position += 1
        while command.endswith("\\"):
            command += "\n" + lines[position]
            position += 1
        output = []
        while position < len(lines) and not lines[position].startswith(PROMPT):
            output.append(lines[position])
            position += 1
        found.append((command, "\n".join(output)))
    return found


def examples(document: Path) -> list[Example]:
    """Return the examples of a document."""
    found = []
    for block in BLOCK.finditer(document.read_text(encoding="utf-8")):
        if not block["skip"]:
            found += [Example(document, c, o) for c, o in split(block["body"]) if c.startswith(PROMPT)]
    return found


def run(command: str) -> str:
    """Run a command line in this process and return what it prints, errors included, from the docs folder."""
    from infer_cost.cli.main import run as run_infer_cost

    arguments = shlex.split(command.replace("\\\n", " ")[len(PROMPT) :])
    printed = io.StringIO()
    before = Path.cwd()
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    os.chdir(ROOT / "docs")
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            run_infer_cost(arguments)
    finally:
        os.chdir(before)
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()).strip("\n")


def matches(shown: str, printed: str) -> bool:
    """Tell whether the output shown is the output printed, ``...`` lines standing for any."""
    parts = [re.escape(part) for part in re.split(r"(?m)^\.\.\.$\n?", shown.strip("\n"))]
    # A line an iteration: with a dot that takes newlines too, an example that differs would be tried in endless ways.
    return re.fullmatch(r"(?:[^\n]*\n)*?".join(parts) + r"\s*", printed + "\n") is not None


def holds(example: Example, printed: str) -> bool:
    """Tell whether an example prints what is shown.

    Another Click breaks the lines of a help text elsewhere, and brackets ``COMMAND`` or not.
    """
    if example.command.endswith("--help"):
        return re.sub(r"[\s\[\]]", "", example.shown) == re.sub(r"[\s\[\]]", "", printed)
    return matches(example.shown, printed)


def refresh(document: Path) -> bool:
    """Write the output of every example anew; tell whether it changed."""
    text = document.read_text(encoding="utf-8")

    def rewritten(block: re.Match[str]) -> str:
        if block["skip"]:
            return block[0]
        lines = []
        for command, shown in split(block["body"]):
            lines.append(command)
            output = _renewed(shown, run(command)) if command.startswith(PROMPT) else shown
            lines += [output] if output else []
        return "```console\n" + "\n".join(lines) + "\n```"

    new = BLOCK.sub(rewritten, text)
    if new != text:
        document.write_text(new, encoding="utf-8")
    return new != text


def _renewed(shown: str, printed: str) -> str:
    """Return what was printed; of an example with ``...`` lines, the lines that begin with the same words."""
    if not re.search(r"(?m)^\.\.\.$", shown):
        return printed
    lines, rest = [], printed.splitlines()
    for line in shown.splitlines():
        found = next((place for place, fresh in enumerate(rest) if _label(fresh) == _label(line)), None)
        if line == "..." or found is None:
            lines.append(line)
        else:
            lines.append(rest[found])
            rest = rest[found + 1 :]
    return "\n".join(lines)


def _label(line: str) -> str:
    words = re.search(r"[^\W\d].*?(?=\s{2,}|:|$)", line)
    return words[0] if words else line.strip()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for page in documents():
        if refresh(page):
            print(f"rewrote {page.relative_to(ROOT)}")
