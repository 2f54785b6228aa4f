"""Files of users: read or refused in a line, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infer_cost.errors import InputError
from infer_cost.files import read_text, read_toml, written_whole


def test_what_is_read(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b'\xef\xbb\xbfname = "caf\xc3\xa9"\n')
    assert read_toml(path, field="x") == {"name": "café"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "isn't UTF-8 text"),
        (b"a = " + b"[" * 100_000, "isn't TOML"),
        (b"a = ", "isn't TOML"),
        (b"a = 1\n" * 200_000, "too large"),
        (None, "No such file"),
    ],
)
def test_what_is_refused(tmp_path, content, said):
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_toml(path, field="grid")
    assert caught.value.field == "grid"
    assert len(str(caught.value).splitlines()) == 1


def test_no_file_at_all(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name in (tmp_path, tmp_path / "loop", "a\0b", "x" * 5000, "/dev/zero"):
        with pytest.raises(InputError):
            read_text(name, field="x")


def test_a_sparse_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.touch()
    os.truncate(path, 10**12)
    with pytest.raises(InputError, match="too large"):
        read_text(path, field="x")


def test_a_failure_leaves_what_stood_there(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt), written_whole(path) as whole:
        whole.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "before"
    with written_whole(path) as whole:
        whole.write_text("all")
    assert path.read_text() == "all"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path):
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    link.symlink_to(target)
    with written_whole(link) as whole:
        whole.write_text("all")
    assert link.is_symlink()
    assert target.read_text() == "all"
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with written_whole(tmp_path / "loop.csv") as whole:
        whole.write_text("all")
    assert (tmp_path / "loop.csv").read_text() == "all"


def test_a_device_takes_what_it_gets():
    with written_whole("/dev/null") as whole:
        assert whole == Path("/dev/null")
