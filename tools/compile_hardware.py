"""Check the hardware data files and compile them to what starts fast.

Reads ``infer_cost/hardware_specs/data/**`` (TOML, for people) and writes ``compiled/*.json`` beside it (for the
program). Run it after every change of the data; a test compares the two.

    python tools/compile_hardware.py [--check]
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from infer_cost.hardware_specs.memory import usable_memory
from infer_cost.hardware_specs.names import normalise
from infer_cost.hardware_specs.quantities import FIELDS, PEAK, SECTIONS, Measure
from infer_cost.hardware_specs.schema import AcceleratorFile, FigureRow, FormatRow, GpuHour, Source, Sourced, SystemRow

HARDWARE = Path(__file__).resolve().parent.parent / "infer_cost" / "hardware_specs"
CONFIDENCES = ("two-sources", "one-source", "recalled", "derived")
Row = dict[str, Any]


def compile_all(data: Path) -> dict[str, str]:
    """Return the text of every compiled file by its name."""
    sources = {key: Source.model_validate(row) for key, row in read(data / "sources.toml").items()}
    return {
        "catalog": dump(compile_catalog(data, sources)),
        "formats": dump(compile_formats(data, sources)),
        "infrastructure": dump(compile_infrastructure(data, sources)),
    }


def compile_catalog(data: Path, sources: dict[str, Source]) -> Row:
    """Accelerators, systems, prices and the names they go by."""
    files = [AcceleratorFile.model_validate(read(path)) for path in sorted((data / "accelerators").glob("*.toml"))]
    files.sort(key=lambda file: (file.vendor, file.year, file.id))
    systems = {key: SystemRow.model_validate(row) for key, row in read(data / "systems.toml").items()}
    hours = [GpuHour.model_validate(row) for row in read(data / "gpu_hours.toml")["gpu_hour"]]
    known = {file.id for file in files}
    for name, target in [(h.tier, h.accelerator) for h in hours] + [(k, s.accelerator) for k, s in systems.items()]:
        if target not in known:
            raise ValueError(f"{name}: no accelerator {target!r}")
    for file in files:
        if file.system and (file.system not in systems or systems[file.system].accelerator != file.id):
            raise ValueError(f"{file.id}: no system {file.system!r} of it")
    catalog: Row = {
        "accelerators": {file.id: accelerator_row(file) for file in files},
        "systems": {key: system_row(row) for key, row in systems.items()},
        "gpu_hours": gpu_hour_rows(hours),
        "names": names(files, systems, read(data / "ambiguous.toml")),
    }
    catalog["sources"] = cited(catalog, sources)
    return catalog


def accelerator_row(file: AcceleratorFile) -> Row:
    """One accelerator in base units, each value with its provenance."""
    values = quantities(file)
    values["usable_memory_bytes"] = usable(values)
    if file.scale_up_domain:
        values["scale_up_domain"] = [file.scale_up_domain.value, origin(file.scale_up_domain)]
    for precision, value in file.peak_flops.items():
        values[f"peak_flops.{precision}"] = [rounded(PEAK.read(value.value, field=precision)), origin(value)]
    keep = (
        "name",
        "vendor",
        "architecture",
        "year",
        "status",
        "memory_kind",
        "scale_up_link",
        "system",
        "aliases",
        "notes",
    )
    return {key: getattr(file, key) for key in keep} | {"values": values}


def usable(values: Row) -> list[Any]:
    """Memory that a process can allocate: as a framework finds it, else as the driver shows it, else an estimate."""
    shown = values.pop("shown_memory_bytes", None)
    if "usable_memory_bytes" in values:
        return list(values["usable_memory_bytes"])
    number, note = usable_memory(values["memory_bytes"][0], shown[0] if shown else None)
    keys, confidence, own_note, readings = shown[1] if shown else (["arithmetic"], "derived", "", [])
    return [number, [keys, confidence, f"{own_note}; {note}" if own_note else note, readings]]


def system_row(row: SystemRow) -> Row:
    """One system in base units, each value with its provenance."""
    values = quantities(row)
    values["gpus"] = [row.gpus.value, origin(row.gpus)]
    keep = ("name", "accelerator", "status", "aliases", "notes")
    return {key: getattr(row, key) for key in keep} | {"values": values}


def quantities(model: AcceleratorFile | SystemRow) -> Row:
    """The fields that carry a unit, by the name they have in the result."""
    found = {}
    for field, measure in FIELDS.items():
        value = getattr(model, field, None)
        if value is not None:
            found[measure.result] = [rounded(measure.read(value.value, field=field)), origin(value)]
    return found


def gpu_hour_rows(hours: list[GpuHour]) -> Row:
    """Prices by accelerator, in the order of the file."""
    rows: Row = {}
    for hour in hours:
        tiers = rows.setdefault(hour.accelerator, [])
        if any(tier[0] == hour.tier for tier in tiers):
            raise ValueError(f"{hour.accelerator}: tier {hour.tier} twice")
        tiers.append([hour.tier, hour.usd, hour.placeholder, origin(hour)])
    return rows


def names(files: list[AcceleratorFile], systems: dict[str, SystemRow], ambiguous: Row) -> Row:
    """Every spelling's normal form with the id it means, or the ids it may mean."""
    table: Row = {}
    named = [(file.id, [file.id, file.name, *file.aliases]) for file in files]
    named += [(key, [key, row.name, *row.aliases]) for key, row in systems.items()]
    for key, spellings in named:
        for spelling in spellings:
            if table.setdefault(normalise(spelling), key) != key:
                raise ValueError(f"{spelling!r} means both {key} and {table[normalise(spelling)]}")
    for spelling, candidates in ambiguous.items():
        if normalise(spelling) in table:
            raise ValueError(f"{spelling!r} is ambiguous and yet an alias of {table[normalise(spelling)]}")
        if unknown := [c for c in candidates if table.get(normalise(c)) != c]:
            raise ValueError(f"{spelling!r}: no machine {unknown}")
        table[normalise(spelling)] = candidates
    return table


def compile_formats(data: Path, sources: dict[str, Source]) -> Row:
    """Number formats with their effective bits, and the names they go by."""
    rows = {key: FormatRow.model_validate(row) for key, row in read(data / "formats.toml").items()}
    aliases: Row = {}
    for key, row in rows.items():
        for spelling in (key, *row.aliases):
            if aliases.setdefault(spelling.lower(), key) != key:
                raise ValueError(f"format {spelling!r} means both {key} and {aliases[spelling.lower()]}")
    table: Row = {
        "formats": {
            key: {
                "name": row.name,
                "bits": row.bits,
                "scale_bits": row.scale_bits,
                "block_size": row.block_size,
                "bits_per_weight": row.bits + row.scale_bits / row.block_size,
                "compute": row.compute,
                "aliases": row.aliases,
                "provenance": origin(row),
            }
            for key, row in rows.items()
        },
        "aliases": aliases,
    }
    table["sources"] = cited(table, sources)
    return table


def compile_infrastructure(data: Path, sources: dict[str, Source]) -> Row:
    """Links, switches, optics, latencies and the cost of owning, section by section."""
    content = read(data / "infrastructure.toml")
    if content.keys() != SECTIONS.keys():
        raise ValueError(f"infrastructure.toml: sections {sorted(content.keys() ^ SECTIONS.keys())}")
    table: Row = {"sections": {}}
    for name, rows in content.items():
        measure = SECTIONS[name]
        checked = {key: FigureRow.model_validate(row) for key, row in rows.items()}
        table["sections"][name] = {
            "unit": measure.unit,
            "rows": {
                key: [row.name, *(figure(value, measure) for value in (row.value, row.low, row.high)), origin(row)]
                for key, row in checked.items()
            },
        }
    table["sources"] = cited(table, sources)
    return table


def figure(value: str | float | None, measure: Measure) -> float | None:
    """A figure in the unit of its section."""
    if isinstance(value, str):
        return rounded(measure.read(value, field=measure.result))
    if value is not None and not measure.low <= value <= measure.high:
        raise ValueError(f"{measure.result}: {value} isn't between {measure.low} and {measure.high}")
    return value


def rounded(value: float) -> float:
    """A figure without what the prefixes of its unit add in the sixteenth digit."""
    return float(f"{value:.12g}")


def origin(value: Sourced) -> list[Any]:
    """A value's provenance as the program reads it."""
    return [value.source, value.confidence, value.note, value.readings]


def cited(table: Row, sources: dict[str, Source]) -> Row:
    """The sources that a table cites; a key that no source has is an error."""
    keys: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            if len(node) == 4 and node[1] in CONFIDENCES:
                keys.update(node[0])
            for child in node:
                walk(child)

    walk(table)
    if missing := keys - sources.keys():
        raise ValueError(f"no source called {', '.join(sorted(missing))}")
    if unclear := [key for key in keys if "; " in sources[key].text]:
        raise ValueError(f"a semicolon separates sources, and stands in {unclear}")
    return {key: [sources[key].text, sources[key].read.isoformat()] for key in sorted(keys)}


def read(path: Path) -> Row:
    """Read a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error


def dump(table: Row) -> str:
    """JSON with a row a line, so that a change of the data shows as one."""
    parts = []
    for key, rows in table.items():
        lines = [
            f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False, separators=(',', ':'))}" for k, v in rows.items()
        ]
        parts.append(f"{json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(check: bool) -> int:
    """Write what is stale, or only name it; the exit status."""
    stale = []
    for name, text in compile_all(HARDWARE / "data").items():
        path = HARDWARE / "compiled" / f"{name}.json"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    print(f"{'stale' if check else 'written'}: {', '.join(stale) or 'nothing'}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
