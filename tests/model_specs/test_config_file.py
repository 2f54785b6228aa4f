"""Files that are no config: each is refused in a line or two."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from infer_cost.errors import InputError
from infer_cost.model_specs import config_file
from infer_cost.model_specs.catalog import model
from tests.model_specs.support import LLAMA


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        model(path)
    text = str(caught.value)
    assert caught.value.field == "model" and caught.value.exit_code == 2
    assert text.count("\n") <= 1 and len(text) < 400
    return text


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (json.dumps(LLAMA).encode()[:60], "not valid JSON"),
        (b"\x93NUMPY\x01\x00\xff\xfe", "not a text file"),
        (b"[1, 2]", "JSON list"),
        (b"null", "JSON NoneType"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, "nests too deep"),
        (b"[" * 200_000, "nests too deep"),
        (b"[" + b"[]," * 1_100_000 + b"1]", "holds more than 2,000,000 values"),
        (b'{"hidden_size": ' + b"9" * 10_000 + b"}", "not valid JSON"),
    ],
)
def test_content_that_is_no_config(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in refused(written(tmp_path, content))


def test_missing_file(tmp_path: Path) -> None:
    assert "can't be read" in refused(tmp_path / "none.json")


def test_directory_without_a_config(tmp_path: Path) -> None:
    assert "directory without a config.json" in refused(tmp_path)


def test_directory_with_a_config(tmp_path: Path) -> None:
    written(tmp_path, json.dumps(LLAMA).encode())
    assert model(tmp_path).layers == 32
    assert model(str(tmp_path)).source == str(tmp_path)


def test_byte_order_mark_is_fine(tmp_path: Path) -> None:
    assert model(written(tmp_path, b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())).layers == 32


def test_large_file_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"{")
    os.truncate(path, config_file.MAX_BYTES + 1)
    tracemalloc.start()
    assert "at most 50 MB" in refused(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    os.mkfifo(path)
    assert "not a regular file" in refused(path)


def test_long_names_and_odd_characters() -> None:
    for name in ("x" * 10_000, "a\0b", "./a\0b.json", "\udcff", "../" * 2000 + "etc", "  "):
        with pytest.raises(InputError) as caught:
            model(name)
        assert len(str(caught.value)) < 500
