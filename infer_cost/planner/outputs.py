"""Where a sweep's rows go: a CSV, JSON lines or Parquet file that grows chunk by chunk and can be taken up again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from infer_cost.errors import InputError
from infer_cost.files import written_whole
from infer_cost.planner.evaluate import LIMITS, RESULTS, Block
from infer_cost.planner.grid import LOADS
from infer_cost.planner.rows import cells, csv_header, csv_lines, json_lines

FORMATS = (".csv", ".jsonl", ".parquet")


def partial(path: Path) -> Path:
    """Where the rows of an unfinished text file stand: it takes its own name when it is complete."""
    return path.with_name(path.name + ".part")


class Output(Protocol):
    """A file of rows that is written in order."""

    def write(self, block: Block) -> None:
        """Append the rows of a block."""
        ...

    def position(self) -> int:
        """Make everything written so far durable, and return what :func:`open_output` takes it up from."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


def open_output(path: Path, columns: Sequence[str], position: int | None = None) -> Output:
    """Open a file for rows by its ending; from ``position`` on when an earlier run had got that far.

    Raises
    ------
    InputError
        For another ending, or Parquet without pyarrow.
    """
    ending = known_ending(path)
    if ending == ".parquet":
        return _Parquet(path, columns, position)
    return _Text(path, columns, position, csv=ending == ".csv")


def known_ending(path: Path) -> str:
    """Return the ending that says how a file of rows is written; raises as :func:`open_output` does."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            f"can't tell the format of {path.name or path}", field="output", value=str(path), allowed=", ".join(FORMATS)
        )
    return ending


class _Text:
    """CSV or JSON lines; what was written after the last position of an interrupted run is cut off."""

    def __init__(self, path: Path, columns: Sequence[str], position: int | None, *, csv: bool) -> None:
        self.path, self.columns, self.csv = path, columns, csv
        self.file = partial(path).open("r+b" if position is not None else "wb")
        if position is not None:
            self.file.truncate(position)
            self.file.seek(position)
        elif csv:
            self.file.write(csv_header(columns))

    def write(self, block: Block) -> None:
        self.file.write(csv_lines(block, self.columns) if self.csv else json_lines(block, self.columns))

    def position(self) -> int:
        self.file.flush()
        return self.file.tell()

    def close(self) -> None:
        self.file.close()
        partial(self.path).replace(self.path)


class _Parquet:
    """Parquet can't be appended to, so each stretch between two positions is a file, joined at the end."""

    def __init__(self, path: Path, columns: Sequence[str], position: int | None) -> None:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError as error:
            raise InputError(
                "Parquet needs pyarrow", field="output", value=str(path), hint="pip install 'infer-cost[parquet]'"
            ) from error
        self.parquet: Any = parquet
        self.path, self.columns = path, columns
        self.parts = path.with_name(path.name + ".parts")
        self.count = position or 0
        if position is None:
            shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir(exist_ok=True)
        for later in list(self.parts.glob("*.parquet")):
            if int(later.stem) >= self.count:
                later.unlink()
        self.waiting: list[Block] = []

    def write(self, block: Block) -> None:
        if block.rows:
            self.waiting.append(block)

    def position(self) -> int:
        if self.waiting:
            with self.parquet.ParquetWriter(self.parts / f"{self.count}.parquet", self._schema()) as writer:
                for block in self.waiting:
                    writer.write_table(self._table(block))
            self.count += 1
            self.waiting = []
        return self.count

    def close(self) -> None:
        self.position()
        with (
            written_whole(self.path) as whole,
            self.parquet.ParquetWriter(whole, self._schema()) as writer,
        ):
            for number in range(self.count):
                part = self.parquet.ParquetFile(self.parts / f"{number}.parquet")
                for batch in part.iter_batches():
                    writer.write_batch(batch)
        shutil.rmtree(self.parts)

    def _schema(self) -> Any:
        pyarrow: Any = import_module("pyarrow")

        from infer_cost.planner.grid import option_kinds

        kinds: dict[str, Any] = {**option_kinds(), "gpus": "int", "fits": "bool", "running": "int", "limited_by": "str"}
        kinds |= dict.fromkeys((name for name in RESULTS if name != "running"), "float")
        types = {"int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_(), "str": pyarrow.string()}
        return pyarrow.schema([(name, types[kinds[name]]) for name in self.columns])

    def _table(self, block: Block) -> Any:
        import numpy as np

        pyarrow: Any = import_module("pyarrow")
        schema = self._schema()
        arrays = []
        for field in schema:
            values = block.columns.get(field.name)
            if field.name in LOADS and values is not None:
                arrays.append(pyarrow.array(values.astype("int64")))
            elif field.name == "limited_by" and values is not None:
                names = pyarrow.array(LIMITS)
                mask = ~block.columns["fits"]
                arrays.append(names.take(pyarrow.array(values.astype("int64"), mask=mask)))
            elif field.name == "running" and values is not None:
                missing = np.isnan(values)
                arrays.append(pyarrow.array(np.where(missing, 0, values).astype("int64"), mask=missing))
            elif values is not None and values.dtype.kind == "f":
                arrays.append(pyarrow.array(values, from_pandas=True))
            else:
                arrays.append(pyarrow.array(cells(block, field.name), type=field.type))
        return pyarrow.table(arrays, schema=schema)
