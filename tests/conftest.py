"""What tests share: running the command line in this process, as a user types it."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from infer_cost.cli.main import run


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_command(line: str) -> Result:
    out, err = io.StringIO(), io.StringIO()
    code: int | str | None = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(shlex.split(line))
        except SystemExit as leave:
            code = leave.code
    assert isinstance(code, int | None)
    return Result(code or 0, out.getvalue(), err.getvalue())


@pytest.fixture
def infer_cost() -> Callable[[str], Result]:
    """Run ``infer-cost LINE`` and return its exit code and what it printed."""
    return run_command
