"""Counting a real text with a real tokenizer file."""

from __future__ import annotations

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="the tokenize extra isn't installed")

from infer_cost.errors import InputError  # noqa: E402
from infer_cost.stages.tokenizer import count_tokens  # noqa: E402

TEXT = "One request crosses fifteen stages, and every one of them has its price.\n" * 40


@pytest.fixture
def files(tmp_path):
    """A prompt, and a byte-level BPE trained on it and saved as tokenizer.json."""
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([TEXT], vocab_size=300)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(TEXT, encoding="utf-8")
    return prompt, path, len(tokenizer.encode(TEXT).ids)


def test_count(files):
    prompt, tokenizer, tokens = files
    assert count_tokens(str(prompt), str(tokenizer)) == tokens


def test_journey_of_a_text(infer_cost, files):
    prompt, tokenizer, tokens = files
    line = f"journey llama-3.1-8b --hardware h100-sxm --prompt-file {prompt} --tokenizer {tokenizer} --json"
    assert infer_cost(line).json["input_tokens"] == tokens


def test_what_is_no_tokenizer_or_no_text(files, tmp_path):
    prompt, tokenizer, _ = files
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    for text, model in (
        (prompt, prompt),
        (binary, tokenizer),
        (empty, tokenizer),
        (tmp_path, tokenizer),
        (tmp_path / "no", tokenizer),
    ):
        with pytest.raises(InputError):
            count_tokens(str(text), str(model))
