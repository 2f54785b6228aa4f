"""Count the tokens of a real prompt with a real tokenizer file (extra ``tokenize``)."""

from __future__ import annotations

from pathlib import Path

from infer_cost.errors import InputError, shorten

MAX_PROMPT_BYTES = 100_000_000
MAX_TOKENIZER_BYTES = 200_000_000


def count_tokens(prompt_file: str | None, tokenizer_file: str | None) -> int:
    """Return how many tokens a text file has.

    Parameters
    ----------
    prompt_file : str
        A UTF-8 text file
    tokenizer_file : str
        A ``tokenizer.json`` of the Hugging Face tokenizers library

    Raises
    ------
    InputError
        When one of the two is missing, can't be read or isn't what it should be, or the library isn't installed.
    """
    if prompt_file is None or tokenizer_file is None:
        missing = "prompt_file" if prompt_file is None else "tokenizer"
        raise InputError(
            "--prompt-file and --tokenizer go together: a text has no token count without a tokenizer",
            field=missing,
            allowed="both files, or --input-tokens",
        )
    text = _text(Path(prompt_file))
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError(
            "counting tokens needs the tokenizers library", field="tokenizer", hint="pip install 'infer-cost[tokenize]'"
        ) from None
    path = _readable(Path(tokenizer_file), "tokenizer", MAX_TOKENIZER_BYTES)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for whatever it can't parse
        raise InputError(
            f"{shorten(str(path))} isn't a tokenizer.json: {shorten(str(error), 100)}", field="tokenizer"
        ) from None
    return len(tokenizer.encode(text).ids)


def _text(path: Path) -> str:
    try:
        text = _readable(path, "prompt_file", MAX_PROMPT_BYTES).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{shorten(str(path))} isn't UTF-8 text", field="prompt_file") from None
    if not text:
        raise InputError(f"{shorten(str(path))} is empty", field="prompt_file", allowed="at least one token")
    return text


def _readable(path: Path, field: str, limit: int) -> Path:
    try:
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "doesn't exist"
            raise InputError(f"{shorten(str(path))} {what}", field=field, value=str(path), allowed="a file")
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{shorten(str(path))}: {error.strerror}", field=field, value=str(path)) from None
    if size > limit:
        raise InputError(
            f"{shorten(str(path))} is {size / 1e6:,.0f} MB", field=field, value=size, allowed=f"{limit / 1e6:.0f} MB"
        )
    return path
