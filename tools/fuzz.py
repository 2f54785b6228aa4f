"""Random command lines over every command, with random values and hostile files; say which break the contract.

``python tools/fuzz.py -n 20000 --seed 1`` runs them in this process, in a folder of its own. The contract: exit code 0,
1 or 2 (130 when interrupted); no traceback and no internal error; at most two lines on standard error beside warnings
of defaults used; nothing on standard output when the input is bad, or one JSON document with ``--json``; no NaN or
infinity in JSON; and no file that looks complete after a failure.

``--line 'estimate ...'`` runs one command line and shows what it prints.
"""

# ruff: noqa: SIM905

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SLOWEST_S = 20
MOST_MEMORY = 6_000_000_000
"""What takes more is stopped and counts as a failure, before it takes the machine with it [B]."""

NUMBERS = (
    "0 1 2 3 4 5 7 8 16 32 64 100 127 128 1000 4096 8192 32768 131072 1000000 -1 -8 0.5 1.5 1e3 1e308 1e-308 1e400 nan "
    "NaN inf -inf 99999999999999999999 9223372036854775807 9223372036854775808 0x10 1_000 1,000 ١٢ ² '' abc 3e8 1e15"
).split()
SHARES = "0 0.01 0.3 0.5 0.7 0.9 0.999 1 1.0001 2 -0.1 nan inf 1e-300 50% 0,5 half".split()
QUANTITIES = [
    *("$2 2.5 $2.50/h 3EUR -1 0 nan inf 1e308 1e-320 3GB 2/h $ /h".split()),
    *("4 TB/s", "900 GB/s", "80 GB", "80 Gb", "80 GiB", "1 ms", "20 s", "5 years", "1e999 GB", "0 GB", "-3 TB/s"),
]
WORDS = (
    "none mtp eagle draft standard batch flex priority digest article hbm dram flash remote neocloud-tco hyperscaler "
    "decode prefill tpot_s<0.03 csv json markdown true false -- - . .. / ~ \\ * %s {} $HOME \udcff 日本語 💥 ̈ "
).split()
LONG = "x" * 100_000

DEFAULTS = (
    'hardware = "h100-sxm"\n',
    'hardware = "h100-sxm"\ngpus = 8\nweights = "fp8"\n[journey]\nprovider = "openai/gpt-5.5"\n',
    "gpus = nan\n",
    "gpus = 1e400\nconcurrency = -1\n",
    "[estimate]\ntp = [1, 2]\n",
    "[[estimate]]\ntp = 1\n",
    "estimate = 3\n",
    "weights-everywhere = 2026-11-30\n",
    'set = ["memory_bandwidth=1 TB/s"]\nmodel = "llama-3.1-8b"\n',
    "a = " + "[" * 5000,
    "\x00\x01",
    "",
)
"""Defaults of a user, right and wrong."""

NEAR_LINES = (
    "estimate llama-3.1-8b --hardware h100-sxm",
    "estimate llama-3.1-70b --hardware h100-sxm --gpus 4 --weights fp8 --concurrency 32",
    "journey llama-3.1-70b --hardware h100-sxm --gpus 8 --weights fp8",
    "journey deepseek-v3 --hardware gb200-nvl72 --gpus 8 --weights nvfp4 --speculative mtp",
    "estimate llama-3.1-8b --hardware h100-sxm --prefill-gpus 2 --decode-gpus 2 --concurrency 16",
    "memory llama-3.1-70b --hardware h200-sxm",
    "memory deepseek-v3",
    "roofline llama-3.1-70b --hardware h100-sxm --weights fp8 --batch 64",
    "price openai/gpt-5.5 --input-tokens 1000 --output-tokens 100",
    "cost llama-3.1-8b --hardware h100-sxm",
    "sweep llama-3.1-8b --hardware h100-sxm --concurrency 1..8",
    "compare h100-sxm h200-sxm",
    "plan llama-3.1-8b --hardware h100-sxm",
    "catalog hardware",
    "catalog models",
    "catalog hardware show h100-sxm",
    "claims",
    "explain t_mem",
    "solve t_mem --for memory_bandwidth",
    "validate",
    "calibrate",
    "report llama-3.1-8b --hardware h100-sxm",
    "completion bash",
)
"""Lines that are right or nearly so: most of what is random alone is refused before it gets anywhere."""


@dataclass
class Outcome:
    """What a command line did."""

    code: int
    out: str
    err: str
    seconds: float
    raised: str = ""


@dataclass
class Tally:
    """What the run found."""

    codes: Counter[int] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")


class Full(io.StringIO):
    """A stream whose disk is full, or whose reader went away, after some characters."""

    def __init__(self, error: OSError, room: int) -> None:
        super().__init__()
        self.error, self.room = error, room

    def write(self, text: str) -> int:
        """Take what fits."""
        self.room -= len(text)
        if self.room < 0:
            raise self.error
        return super().write(text)


def hostile_files() -> dict[str, bytes | Callable[[Path], None]]:
    """Files that a user may come to pass, by name."""
    config = json.loads((ROOT / "infer_cost/model_specs/data/configs/llama-3.1-8b.json").read_text(encoding="utf-8"))

    def changed(**values: Any) -> bytes:
        return json.dumps({**config, **values}).encode()

    return {
        "good.json": changed(),
        "deep.json": b"[" * 200_000,
        "deep_object.json": b'{"a":' * 50_000,
        "binary.json": bytes(range(256)) * 64,
        "empty.json": b"",
        "nan.json": changed(hidden_size=float("nan")),
        "inf.json": changed(num_hidden_layers=float("inf")),
        "huge.json": changed(hidden_size=10**400),
        "huger.json": changed(vocab_size=10**18, num_hidden_layers=10**12),
        "digits.json": b'{"model_type": "llama", "hidden_size": ' + b"9" * 10_000 + b"}",
        "negative.json": changed(num_attention_heads=-32),
        "zero.json": changed(num_attention_heads=0, num_key_value_heads=0),
        "zero_layers.json": changed(num_hidden_layers=0),
        "floats.json": changed(hidden_size=4096.5),
        "texts.json": changed(hidden_size="4096"),
        "lists.json": changed(hidden_size=[4096], rope_scaling=[1]),
        "nulls.json": json.dumps(dict.fromkeys(config)).encode(),
        "booleans.json": changed(num_hidden_layers=True, vocab_size=False),
        "odd_quantization.json": changed(quantization_config={"quant_method": 5, "bits": "many"}),
        "quantization_list.json": changed(quantization_config=["fp8"]),
        "surrogates.json": b'{"model_type": "\\ud800", "architectures": ["\\udfff"]}',
        "bom.json": b"\xef\xbb\xbf" + changed(),
        "utf16.json": json.dumps(config).encode("utf-16"),
        "repeated.json": b'{"model_type": "llama", "model_type": "gpt2", "n_embd": 4}',
        "list.json": b"[1, 2]",
        "chip.toml": b'name = "mine"\nmemory = "80 GB"\nmemory_bandwidth = "3 TB/s"\n[peak]\nbf16 = "900 TFLOP/s"\n',
        "nan.toml": b'memory = nan\nmemory_bandwidth = inf\n[peak_flops]\nbf16 = "-1 TFLOP/s"\n',
        "deep.toml": b"a = " + b"[" * 50_000,
        "dates.toml": b"memory = 2026-11-30\nhardware = 12:00:00\n",
        "binary.toml": bytes(range(256)),
        "tables.toml": b"[a.b.c.d]\nx = 1\n[[e]]\n[[e]]\n",
        "options.toml": b'model = "llama-3.1-8b"\nhardware = ["h100-sxm"]\ntp = [1, 2]\nconcurrency = "1..4"\n',
        "rows.csv": b"hardware,model,isl,osl,conc,ttft_ms,tpot_ms\nh100-sxm,llama-3.1-8b,100,100,1,20,9\n",
        "nan.csv": b"hardware,model,isl,osl,conc,ttft_ms\nh100-sxm,llama-3.1-8b,nan,inf,-1,NaN\n,,,,,\n",
        "ragged.csv": b'a,b,c\n1\n1,2,3,4,5\n"unclosed',
        "binary.csv": bytes(range(256)) * 10,
        "wide.csv": b"x," * 20_000 + b"\n",
        "field.csv": b"hardware,model\n" + b"y" * 300_000 + b",z\n",
        "empty.csv": b"",
        "text.txt": b"The quick brown fox.\n" * 50,
        "folder": lambda path: path.mkdir(),
        "loop.json": lambda path: path.symlink_to(path.name),
        "loop.toml": lambda path: path.symlink_to(path.name),
        "loop.csv": lambda path: path.symlink_to(path.name),
        "dangling.json": lambda path: path.symlink_to("nowhere"),
        "unreadable.json": lambda path: (path.write_bytes(b"{}"), path.chmod(0)),
        "sparse.json": lambda path: (path.touch(), os.truncate(path, 3_000_000_000)),
        "sparse.toml": lambda path: (path.touch(), os.truncate(path, 3_000_000_000)),
        "sparse.csv": lambda path: (path.touch(), os.truncate(path, 200_000_000_000)),
    }


def lay_out(folder: Path) -> list[str]:
    """Write the hostile files and return their names and some that aren't there."""
    files = hostile_files()
    for name, content in files.items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(content)
    return [
        *files,
        "missing.json",
        "missing/deeper.toml",
        "/dev/null",
        "/dev/zero",
        "/",
        "good.json/inside",
        "\udcff.json",
    ]


class Strict(io.StringIO):
    """A stream that takes UTF-8 only, as a terminal's does, and can be told to replace what isn't."""

    errors_wanted = "strict"

    def reconfigure(self, *, errors: str) -> None:
        """Choose what becomes of letters that can't be written."""
        self.errors_wanted = errors

    def write(self, text: str) -> int:
        """Take a text if it can be written."""
        return super().write(text.encode("utf-8", self.errors_wanted).decode("utf-8"))


def run(arguments: list[str], stdout: io.StringIO | None = None, interrupt_after: float | None = None) -> Outcome:
    """Run a command line in this process, and interrupt it after some seconds."""
    from infer_cost.cli.main import run as run_infer_cost

    out, err = stdout or Strict(), io.StringIO()
    code: Any = 0
    raised = ""
    begun = time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if interrupt_after is not None:
                signal.setitimer(signal.ITIMER_REAL, interrupt_after)
            run_infer_cost(arguments)
        except SystemExit as leave:
            code = leave.code
        except KeyboardInterrupt:
            # Before infer-cost began or after it ended: nobody's fault.
            code = 130
        except BaseException as error:
            raised = f"{type(error).__name__}: {error}"[:300]
        # A timer that goes off between the lines above and below is caught here, not by the caller.
        try:
            _stop_timer()
        except KeyboardInterrupt:
            _stop_timer()
    return Outcome(
        code if isinstance(code, int) else 0, out.getvalue(), err.getvalue(), time.perf_counter() - begun, raised
    )


def _stop_timer() -> None:
    """Stop the timer, even if it goes off while it is being stopped; it goes off only once."""
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)


def verdict(arguments: list[str], outcome: Outcome, *, interrupted: bool = False, broken: bool = False) -> str | None:
    """Say what breaks the contract, or None."""
    from infer_cost.cli.main import wants_json

    as_json = wants_json(arguments)
    lines = [line for line in outcome.err.splitlines() if not line.startswith("infer-cost: from ")]
    if outcome.raised:
        return f"raised {outcome.raised}"
    if outcome.code not in ((0, 1, 2, 130) if interrupted else (0, 1, 2)):
        return f"exit code {outcome.code}: {outcome.err[:300]}"
    if "Traceback" in outcome.err or "internal error" in outcome.err:
        return f"an internal error: {outcome.err[:300]}"
    if outcome.code in (1, 2) and not broken:
        if not lines or len(lines) > 2:
            return f"{len(lines)} lines on standard error: {outcome.err[:300]}"
        if any(len(line) > 1000 for line in lines):
            return f"a line of {max(map(len, lines))} characters on standard error"
    if broken:
        return None
    if outcome.code == 2 and outcome.out and not as_json:
        return f"bad input, and still an answer: {outcome.out[:100]!r}"
    if as_json and outcome.code in (0, 1, 2) and not {"--help", "-h", "--version"} & set(arguments):
        return _json_verdict(outcome)
    if (
        outcome.code == 0
        and any(f" {word} " in f" {outcome.out} " for word in ("nan", "inf", "NaN"))
        and (arguments[:1] not in (["claims"], ["explain"]))
    ):
        return "NaN or infinity in the answer"
    return None


def _json_verdict(outcome: Outcome) -> str | None:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} in JSON")

    if not outcome.out and outcome.code == 0:
        return "no document"
    try:
        document = json.loads(outcome.out, parse_constant=refuse)
    except ValueError as error:
        return f"not one JSON document: {error}"
    if outcome.code and "error" not in document:
        return "a failure without its error in the document"
    return None


class Lines:
    """Draws command lines."""

    def __init__(self, rng: random.Random, files: list[str]) -> None:
        self.rng, self.files = rng, files
        self.commands = dict(_commands())
        from infer_cost.hardware_specs.bundled import accelerator_ids, system_ids
        from infer_cost.hardware_specs.formats import number_formats
        from infer_cost.model_specs.names import model_ids

        self.models = [*model_ids()]
        self.machines = [*accelerator_ids(), *system_ids()]
        self.formats = [one.id for one in number_formats()]

    def draw(self) -> list[str]:
        """One command line."""
        start = self.rng.random()
        if start < 0.5:
            return self._mutated(shlex.split(self.rng.choice(NEAR_LINES)))
        if start < 0.97:
            path = self.rng.choice(list(self.commands))
            return self._with_options([*path.split(), *self._positionals(path)], path, self.rng.randint(0, 8))
        return [self._anything() for _ in range(self.rng.randint(0, 5))]

    def _mutated(self, words: list[str]) -> list[str]:
        path = next((p for p in self.commands if words[: len(p.split())] == p.split()), None)
        if path is None:
            return words
        for _ in range(self.rng.choice((0, 0, 0, 0, 1, 2))):
            place = self.rng.randrange(1, len(words)) if len(words) > 1 else 0
            words[place] = self._like(words[place - 1], words[place])
        return self._with_options(words, path, self.rng.choice((0, 1, 1, 1, 2, 3)))

    def _with_options(self, words: list[str], path: str, number: int) -> list[str]:
        options = [one for one in self.commands[path] if one.param_type_name == "option"]
        for option in self.rng.sample(options, min(number, len(options))):
            flag = self.rng.choice([*option.opts, *option.secondary_opts])
            if option.is_flag:
                words.append(flag)
            elif self.rng.random() < 0.1:
                words.append(f"{flag}={self._value(option)}")
            else:
                words += [flag, self._value(option)]
        if self.rng.random() < 0.4 and "--json" not in words:
            words.append("--json")
        return words

    def _positionals(self, path: str) -> list[str]:
        arguments = [one for one in self.commands[path] if one.param_type_name == "argument"]
        return [self._value(one) for one in arguments if self.rng.random() < 0.85]

    def _value(self, parameter: Any) -> str:
        name, rng = str(parameter.name), self.rng
        if rng.random() < 0.08:
            return self._anything()
        choices = getattr(parameter.type, "choices", None)
        if choices:
            return rng.choice([*map(str, choices), "else"])
        if name in ("model", "draft_model"):
            return rng.choice((rng.choice(self.models), rng.choice(self.files)))
        if name in ("hardware", "names", "prefill_hardware", "decode_hardware"):
            return rng.choice((rng.choice(self.machines), rng.choice(self.machines), rng.choice(self.files)))
        if name in ("weights", "kv"):
            return rng.choice(self.formats)
        if any(part in name for part in ("path", "file", "output", "grid", "tokenizer", "prices", "workload", "csv")):
            return rng.choice((*self.files, f"out{rng.randrange(5)}.csv", "out.jsonl", "nowhere/out.csv"))
        kind = str(parameter.type)
        if "INT" in kind:
            return rng.choice(NUMBERS) if rng.random() < 0.3 else str(rng.choice((1, 2, 4, 8, 16, 100, 1000, 5000)))
        if "FLOAT" in kind:
            return rng.choice(SHARES) if rng.random() < 0.8 else rng.choice(NUMBERS)
        return self._anything()

    def _like(self, before: str, word: str) -> str:
        for option in self.commands.get(before, []):
            return self._value(option)
        return self.rng.choice((word[:-1], word + word[-1:], word.upper(), self._anything()))

    def _anything(self) -> str:
        rng = self.rng
        pools = (NUMBERS, SHARES, QUANTITIES, WORDS, self.files, self.models, self.machines, self.formats)
        drawn = rng.choice(rng.choice(pools))
        trick = rng.random()
        if trick < 0.05:
            return f"{drawn}={rng.choice(rng.choice(pools))}"
        if trick < 0.08:
            return f"{drawn},{rng.choice(rng.choice(pools))}"
        if trick < 0.09:
            return LONG
        if trick < 0.12:
            return f"{drawn}..{rng.choice(NUMBERS)}"
        if trick < 0.16:
            return "--" + rng.choice(("hardwar", "gpus", "help", "x", "set", "no-such"))
        return drawn


def _commands() -> Iterator[tuple[str, list[Any]]]:
    import click
    import typer.main

    from infer_cost.cli.commands import installed
    from infer_cost.cli.group import app

    group = typer.main.get_command(app)

    def walk(command: click.Command, path: str) -> Iterator[tuple[str, list[Any]]]:
        if isinstance(command, click.Group):
            for name, one in command.commands.items():
                yield from walk(one, f"{path} {name}")
        if not isinstance(command, click.Group) or command.params:
            yield path, command.params

    with click.Context(group) as context:
        for name in installed():
            command = group.get_command(context, name)
            assert command is not None
            yield from walk(command, name)


def one_round(lines: Lines, rng: random.Random) -> tuple[list[str], Outcome, str | None]:
    """Draw a command line, run it, now and then with a stream that fails or an interrupt, and judge it."""
    arguments = lines.draw()
    trouble = rng.random()
    with defaults(rng.choice(DEFAULTS) if rng.random() < 0.05 else None):
        before = set(Path().iterdir())
        outcome, said = _judged(arguments, trouble, rng)
        left = _cleared(set(Path().iterdir()) - before)
    if said is None and left and outcome.code in (1, 2) and trouble > 0.04:
        said = f"failed, and left {left}"
    return arguments, outcome, said


def _judged(arguments: list[str], trouble: float, rng: random.Random) -> tuple[Outcome, str | None]:
    if trouble < 0.02:
        error = rng.choice((BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device")))
        outcome = run(arguments, Full(error, rng.choice((0, 10, 1000))))
        return outcome, verdict(arguments, outcome, broken=True)
    if trouble < 0.04:
        outcome = run(arguments, interrupt_after=rng.uniform(0.0001, 0.01))
        return outcome, verdict(arguments, outcome, interrupted=True, broken=outcome.code == 130)
    outcome = run(arguments, interrupt_after=SLOWEST_S)
    said = verdict(arguments, outcome)
    if outcome.code == 130:
        said = f"takes longer than {SLOWEST_S} s"
    return outcome, said


@contextlib.contextmanager
def defaults(text: str | None) -> Iterator[None]:
    """Let a file of defaults lie in the working directory."""
    if text is None:
        yield
        return
    path = Path("infer-cost.toml")
    path.write_text(text, encoding="utf-8")
    os.environ["INFER_COST_CONFIG"] = path.name
    try:
        yield
    finally:
        os.environ["INFER_COST_CONFIG"] = "none"
        path.unlink()


def _cleared(files: set[Path]) -> list[str]:
    """Remove what a command wrote; return the names of what looks complete."""
    for path in files:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return sorted(path.name for path in files if path.suffix not in (".part", ".parts", ".progress", ".new"))


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def workplace() -> Iterator[list[str]]:
    """Work in a folder of its own with the hostile files in it, no defaults of the developer's read."""
    before, handler = Path.cwd(), signal.signal(signal.SIGALRM, _interrupt)
    memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, memory[1]))
    os.environ.update(INFER_COST_CONFIG="none", HF_HUB_OFFLINE="1", COLUMNS="80")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield lay_out(Path(folder))
        finally:
            os.chdir(before)
            signal.signal(signal.SIGALRM, handler)
            resource.setrlimit(resource.RLIMIT_AS, memory)
            (Path(folder) / "unreadable.json").chmod(0o600)


def fuzz(number: int, seed: int, *, progress: bool = False) -> Tally:
    """Run ``number`` random command lines and return what happened."""
    tally = Tally()
    with workplace() as files:
        rng = random.Random(seed)
        lines = Lines(rng, files)
        for count in range(number):
            arguments, outcome, said = one_round(lines, rng)
            tally.codes[outcome.code] += 1
            shown = " ".join(shlex.quote(word[:200]) for word in arguments)
            tally.slowest = max(tally.slowest, (outcome.seconds, shown))
            if said is not None:
                tally.failures.append((shown, said))
                if progress:
                    print(f"infer-cost {shown!a}\n    {said!a}", flush=True)
            if progress and (count + 1) % 2000 == 0:
                print(f"{count + 1} command lines, {len(tally.failures)} break the contract", flush=True)
    return tally


def main() -> int:
    """Read the options, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=20_000, help="command lines to run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--line", help="run one command line instead")
    chosen = parser.parse_args()
    if chosen.line:
        with workplace():
            arguments = shlex.split(chosen.line)
            outcome = run(arguments)
        print(
            outcome.out
            + outcome.err
            + f"exit code {outcome.code}, {outcome.seconds:.2f} s, {verdict(arguments, outcome)}"
        )
        return 0
    tally = fuzz(chosen.n, chosen.seed, progress=True)
    codes = ", ".join(f"{number} with exit code {code}" for code, number in sorted(tally.codes.items()))
    print(f"{chosen.n} command lines: {codes}; slowest {tally.slowest[0]:.1f} s: {tally.slowest[1][:200]!a}")
    print(f"{len(tally.failures)} break the contract")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
