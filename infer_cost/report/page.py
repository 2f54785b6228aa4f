"""Writes a report as one HTML file: no network, no library, readable on a phone, on paper and without scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from infer_cost.files import written_whole
from infer_cost.report.content import Content
from infer_cost.report.pictures import pictures
from infer_cost.report.svg import STYLE, WIDTH, roof_axis
from infer_cost.report.values import Shown, State, first_state, page_data, values
from infer_cost.report.words import amount

_FOLDER = Path(__file__).parent


def html_page(content: Content) -> str:
    """Return the report as one HTML document.

    >>> from infer_cost.report.content import gather
    >>> page = html_page(gather("llama-3.1-8b", "h100-sxm", weights="fp8", input_tokens=2000, output_tokens=200))
    >>> page.startswith("<!doctype html>"), "http-equiv" in page, "<script src" in page
    (True, True, False)
    """
    state = first_state(content)
    out = _writer(values(content, state))
    drawn = pictures(content, style=False)
    trip = content.trip
    gpus = f"{trip.gpus} × {trip.hardware}" if trip.gpus > 1 else trip.hardware
    title = f"{trip.model} on {gpus}"
    body = "".join(
        [
            _head(content, title, out),
            _controls(content, state),
            _stages(content, out),
            _whole(_load_and_cost(content, drawn["load"], out)),
            _elsewhere(content),
            _whole(_roofline(content, state, drawn["roofline"], out)),
            _whole(_memory(content, drawn["memory"])),
            _whole(_sensitivity(drawn)),
            _assumptions(content),
            _sources(content),
        ]
    )
    # The policy forbids the page to load anything, whatever it is made of.
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_asset('page.css')}{STYLE}</style></head>\n<body>{body}\n"
        f'<script type="application/json" id="data">{_embedded(content)}</script>\n'
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def write_page(content: Content, path: str | Path) -> int:
    """Write the report to a file, whole or not at all; return its bytes."""
    return write_whole(Path(path), html_page(content))


def write_whole(path: Path, content: str) -> int:
    """Write a text file so that nobody ever sees a part of it; return its bytes.

    A file is written beside its place and moved there; what isn't a file (a pipe, a device) is written to as it is.
    """
    # What the shell couldn't decode of the command line is repeated on the page as a question mark.
    data = content.encode(errors="replace")
    with written_whole(path) as unfinished:
        unfinished.write_bytes(data)
    return len(data)


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _embedded(content: Content) -> str:
    """Data for the script; ``<`` is written so that no text can end the element."""
    data = page_data(content)
    ridge = content.roofs.peak_flops / content.roofs.memory_bandwidth
    across = roof_axis(ridge)
    users = [load.answer.output_tokens_per_s_per_user.expected for load in content.loads]
    gpus = [load.answer.output_tokens_per_s_per_gpu.expected for load in content.loads]
    low = across.low * content.roofs.memory_bandwidth
    data["charts"] = {
        "load": {"x": [0, max(users) * 1.08, 46, WIDTH - 16], "y": [0, max(gpus) * 1.12, 224, 10], "log": False},
        "roofline": {
            "x": [across.low, across.high, across.start, across.end],
            "y": [low, content.roofs.peak_flops * 1.6, 224, 10],
            "log": True,
        },
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _writer(shown: dict[str, Shown]) -> Callable[[str], str]:
    """Return a function that writes a value by name, as an element that the script finds again."""

    def write(name: str) -> str:
        value, unit = shown[name]
        text = value if isinstance(value, str) else amount(value, unit)
        return f'<span data-out="{name}" data-unit="{unit}">{escape(text)}</span>'

    return write


def _head(content: Content, title: str, out: Callable[[str], str]) -> str:
    trip = content.trip
    cached = f" ({trip.cached_tokens:,} of them cached)" if trip.cached_tokens else ""
    asked = f"{trip.input_tokens:,} input tokens{cached}, {trip.output_tokens:,} output tokens"
    cards = [("time to first token", "ttft"), ("time per output token", "tpot"), ("end to end", "e2e")]
    cards.append(("cost of the request", "cost"))
    shown = "".join(
        f'<div class="card"><small>{label}</small><b>{out(f"{name}.expected")}</b>'
        f"<small>{out(f'{name}.low')} to {out(f'{name}.high')}; bound {out(f'{name}.bound')}</small></div>"
        for label, name in cards
    )
    bill = f" The provider's bill for it would be ${escape(trip.bill_usd)}." if trip.bill_usd else ""
    return (
        f"<h1>{escape(title)}</h1><p class='soft'>What one request takes and costs: {asked}.</p>"
        f'<div class="cards">{shown}</div>'
        f"<p>The largest share of the time is stage {out('bottleneck')}. Each figure is the expected value; the range"
        " holds eight measurements in ten, and the bound is what physics allows at datasheet rates."
        f"{bill}</p>"
    )


def _controls(content: Content, state: State) -> str:
    price = "" if state.usd_per_gpu_hour is None else f"{state.usd_per_gpu_hour:g}"
    last = len(content.loads) - 1
    concurrency = amount(float(content.trip.concurrency), "count")
    return (
        '<form class="controls" autocomplete="off" aria-label="Change the load and the price">'
        f'<label>in flight <input type="range" data-state="load" min="0" max="{last}" step="1" value="{state.load}">'
        f'<output data-out="concurrency" data-unit="count">{concurrency}</output></label>'
        f'<label>$ a GPU-hour <input type="number" data-state="price" min="0" step="0.01" value="{price}"></label>'
        '<label>busy <input type="range" data-state="utilization" min="5" max="100" step="1" '
        f'value="{state.utilization * 100:g}"><output data-control="utilization">'
        f"{amount(state.utilization, 'share')}</output></label></form>"
        f'<p class="print-only soft">At <span data-out="concurrency" data-unit="count">{concurrency}</span> requests '
        f'in flight, <span data-control="price">{amount(state.usd_per_gpu_hour, "USD")}</span> a GPU-hour, busy '
        f'<span data-control="utilization">{amount(state.utilization, "share")}</span> of the time.</p>'
    )


def _stages(content: Content, out: Callable[[str], str]) -> str:
    whole = content.trip.e2e_s.expected
    rows, begun = [], 0.0
    for stage in content.trip.stages:
        name = f"stage.{stage.number}"
        bar = f"margin-left:{100 * begun / whole:.3f}%;width:{100 * stage.e2e_s / whole:.3f}%"
        begun += stage.e2e_s
        empty = "" if stage.e2e_s > 0 else ' class="none"'
        largest = ' class="largest"' if stage.number == content.trip.bottleneck else ""
        rows.append(
            f'<tr id="stage-{stage.number}"{largest}><td class="name"><b>{stage.number} {escape(stage.name)}</b>'
            f'<span class="track"><i style="{bar}"{empty}></i></span></td>'
            f'<td class="wide">{out(f"{name}.ttft")}</td><td class="wide">{out(f"{name}.tpot")}</td>'
            f"<td>{out(f'{name}.e2e')}</td><td>{out(f'{name}.share')}</td>"
            f'<td>{out(f"{name}.cost")}</td><td class="wide">{out(f"{name}.limit")}</td></tr>'
        )
    return (
        "<h2>The fifteen stages</h2><table><thead><tr><th class='name'>stage</th><th class='wide'>first token</th>"
        "<th class='wide'>each token</th><th>in all</th><th>share</th><th>cost</th><th class='wide'>limit</th></tr>"
        f"</thead><tbody>{''.join(rows)}<tr><td class='name'><b>all</b></td>"
        f"<td class='wide'>{out('ttft.expected')}</td><td class='wide'>{out('tpot.expected')}</td>"
        f"<td>{out('e2e.expected')}</td><td></td><td>{out('cost.expected')}</td><td class='wide'></td></tr></tbody>"
        "</table><p class='soft'><small>A stage's share is what the whole would lose without its work, so the rows add "
        "up.</small></p>"
    )


def _load_and_cost(content: Content, chart: str, out: Callable[[str], str]) -> str:
    rows = [
        ("tokens a second for one user", "user-rate"),
        ("tokens a second from one GPU", "gpu-rate"),
        ("a million input tokens", "mtok-in"),
        ("a million output tokens", "mtok-out"),
        ("this request", "cost.expected"),
    ]
    return (
        "<h2>Load, throughput and cost</h2><div class='pair'><div>"
        f"{chart}<p class='soft'><small>Each dot is a number of requests in flight. More of them use the GPUs better "
        "and make each user wait longer.</small></p></div>"
        f"<div>{_list(rows, out)}</div></div>"
    )


def _elsewhere(content: Content) -> str:
    routes = "".join(
        f"<tr><td class='name'>{escape(route.what)}: {route.gpus} × {escape(route.hardware)}</td>"
        f"<td>{amount(route.e2e_s, 's')}</td><td>{amount(route.cost_usd, 'USD')}</td></tr>"
        for route in content.trip.routing
    )
    table = (
        "<h2>The same request elsewhere</h2><p class='soft'>At the load and price that were asked about.</p>"
        "<table><thead><tr><th class='name'>where</th><th>end to end</th>"
        f"<th>cost</th></tr></thead><tbody>{routes}</tbody></table>"
    )
    return _whole(table) if routes else ""


def _whole(section: str) -> str:
    """Keep a section on one sheet of paper."""
    return f'<section class="whole">{section}</section>'


def _roofline(content: Content, state: State, chart: str, out: Callable[[str], str]) -> str:
    roofs = content.roofs
    rows = [
        ("weights read", "roof.weights"),
        ("KV cache read", "roof.cache"),
        ("time to compute", "roof.compute"),
        ("time to read", "roof.memory"),
        ("a step, at least", "roof.step"),
        ("bound by", "roof.limit"),
        ("intensity", "roof.intensity"),
        ("rate of one GPU, at most", "roof.rate"),
        ("tokens a second, at most", "roof.tokens"),
    ]
    sliders = "".join(
        f'<label>{label} <input type="range" data-state="{name}" min="0" max="{len(choices) - 1}" step="1" '
        f'value="{getattr(state, name)}"><output data-out="roof.{name}" data-unit="count">'
        f"{amount(float(choices[getattr(state, name)]), 'count')}</output></label>"
        for label, name, choices in (("batch", "batch", roofs.batches), ("context", "context", roofs.contexts))
    )
    shown = f"<span data-out='roof.batch' data-unit='count'>{roofs.batches[state.batch]:,}</span> sequences of"
    shown += f" <span data-out='roof.context' data-unit='count'>{roofs.contexts[state.context]:,}</span> tokens"
    return (
        f"<h2>Roofline of decode</h2><p class='soft'>A step of {shown}, at full datasheet rates ({roofs.precision}, "
        "dense): the bound, not the expectation.</p>"
        f'<form class="controls roof-controls" autocomplete="off" aria-label="Change the batch">{sliders}</form>'
        f"<div class='pair'><div>{chart}</div><div>{_list(rows, out)}</div></div>"
    )


def _memory(content: Content, chart: str) -> str:
    memory = content.memory
    return (
        f"<h2>Memory of one GPU</h2><div class='pair'><div>{chart}</div><p>Of {amount(memory.usable_bytes, 'B')} that "
        f"the engine may use. A sequence of {memory.context:,} tokens holds "
        f"{amount(memory.sequence_bytes_per_gpu, 'B')} on each GPU of its group; {memory.sequences:,} of them "
        "run at once in the whole deployment.</p></div>"
    )


def _sensitivity(drawn: Any) -> str:
    both = "".join(
        f"<div><p><b>{label}</b></p>{drawn[name]}</div>"
        for label, name in (("End-to-end time", "time-sensitivity"), ("Cost of the request", "cost-sensitivity"))
        if name in drawn
    )
    return (
        "<h2>What moves the answer most</h2><p class='soft'>One input 20 % lower and higher, the others held, at the "
        f"load that was asked about; the engine's part.</p><div class='pair'>{both}</div>"
    )


def _assumptions(content: Content) -> str:
    lines = [*content.trip.assumptions]
    for stage in content.trip.stages:
        lines += [f"stage {stage.number}: {line}" for line in stage.assumptions]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>Assumed</h2><ul>{items}</ul>"


def _sources(content: Content) -> str:
    rows = "".join(
        f"<tr><td>{escape(row.what)}</td><td>{escape(row.value)}</td>"
        f"<td><small>{escape(row.source)}{escape(f', read {row.read}') if row.read else ''}"
        f"{escape(f' ({row.confidence})') if row.confidence else ''}</small></td></tr>"
        for row in content.sources
    )
    repeat = f"<p>Repeat with</p><pre><code>{escape(content.command)}</code></pre>" if content.command else ""
    return (
        "<h2>Sources</h2><table class='sources'><thead><tr><th>figure</th><th>value</th><th>read in</th></tr>"
        f"</thead><tbody>{rows}</tbody></table>{repeat}"
    )


def _list(rows: list[tuple[str, str]], out: Callable[[str], str]) -> str:
    body = "".join(f"<tr><td class='name'>{label}</td><td>{out(name)}</td></tr>" for label, name in rows)
    return f"<table><tbody>{body}</tbody></table>"
