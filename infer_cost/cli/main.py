"""The entry point: runs a command line and turns every error into one or two lines and an exit code.

It imports next to nothing itself: what the command line is made of stands in ``group`` and is imported when there is a
command to run, commands when they are called, so an interrupt at any moment and ``infer-cost`` alone cost nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from infer_cost.cli.commands import COMPLETION_VARIABLE

WELCOME = """\
What serving a large language model costs, how long it takes, and which physical limit decides it.

  Does my model fit, and how many requests at once?
    infer-cost memory llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --context 8192

  How fast is it, and what does a token cost?
    infer-cost estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 32

  Where do the time and the money of one request go?
    infer-cost journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8

infer-cost --help lists every command; infer-cost catalog models and infer-cost catalog hardware list the names."""


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0 answer, 1 cannot be met, 2 bad input."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    # A name in bytes that are no text, or a terminal that can't show a bar, costs a question mark and not the answer.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    code = _guarded(lambda: _invoke(argv), as_json=wants_json(argv))
    sys.exit(_flushed(code))


def _invoke(argv: list[str]) -> int:
    if COMPLETION_VARIABLE in os.environ:
        from infer_cost.cli.completion import answer

        return answer(os.environ[COMPLETION_VARIABLE])
    if not argv:
        print(WELCOME)
        return 0
    from infer_cost.cli.group import invoke

    return invoke(argv)


def wants_json(argv: list[str]) -> bool:
    """Tell whether a failure is to be a JSON document too, from the bare words: they may not even parse."""
    after = argv[argv.index("--output") + 1 :][:1] if "--output" in argv else []
    return "--json" in argv or "--output=json" in argv or after == ["json"]


def _guarded(action: Callable[[], int], *, as_json: bool) -> int:
    """Run ``action``; print whatever goes wrong in one or two lines and return the exit code."""
    try:
        return action()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _silence_stdout()
    except Exception as error:
        return _failed(error, as_json=as_json)


def _failed(error: Exception, *, as_json: bool) -> int:
    """Explain an error and return the exit code; a pipe or a disk that fails meanwhile is no matter."""
    from infer_cost.cli.failures import report

    try:
        return report(error, as_json=as_json)
    except BrokenPipeError:
        return _silence_stdout()
    except OSError:
        _silence_stdout()
        return 2


def _flushed(code: int) -> int:
    """Write out what standard output still holds: a full disk shows only now."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return code or _silence_stdout()
    except OSError as error:
        _silence_stdout()
        return code or _failed(error, as_json=False)
    except KeyboardInterrupt:
        return 130
    return code


def _silence_stdout() -> int:
    # The reader of our pipe went away (head, less): no message, and nothing left for the interpreter to flush.
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return 0
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)
    return 0
