"""``infer-cost catalog models``: the models known by name, and one of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from infer_cost.cli.explanation import emit_explained, print_chains
from infer_cost.cli.options import Sources
from infer_cost.cli.output import bold, count, emit_json, gigabytes, table, wrap

if TYPE_CHECKING:
    from infer_cost.steps import Chain

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
    help="Models known by name, with their sizes and sources.",
    epilog="Example: infer-cost catalog models show deepseek-v3",
)
Json = Annotated[bool, typer.Option("--json", help="One JSON document.")]
FORMATS = ("bf16", "fp8-block", "int4-g128", "nvfp4", "mxfp4")


@app.callback()
def models(
    ctx: typer.Context,
    explain: Sources = False,
    as_json: Json = False,
    like: Annotated[str, typer.Option("--like", help="Only models whose name or alias contains this.")] = "",
) -> None:
    """List the models of the catalog."""
    if ctx.invoked_subcommand is None:
        _list(like.lower(), as_json, explain)


def _list(like: str, as_json: bool, explain: bool) -> None:
    from infer_cost.model_specs.catalog import catalog_entry, summary
    from infer_cost.model_specs.names import model_ids

    entries = [catalog_entry(name) for name in model_ids()]
    entries = [entry for entry in entries if like in " ".join((entry.id, entry.hf_id, *entry.aliases)).lower()]
    told = [chain for entry in entries for chain in _chains(entry.id)] if explain else None
    if as_json:
        documents = [{**_entry(entry), **summary(entry.id)} for entry in entries]
        if told is None:
            emit_json(documents)
        else:
            emit_explained({"models": documents}, told)
        return
    rows = []
    for entry in entries:
        sizes = summary(entry.id)
        rows.append(
            [
                entry.id,
                _billions(sizes["parameters_total"]),
                _billions(sizes["parameters_active"]),
                count(sizes["context_length"]),
                count(sizes["kv_bytes_per_token"]),
                entry.confidence,
            ]
        )
    header = ["model", "parameters", "active", "context", "KV B/token", "config read from"]
    print(table(header, rows, left=(0, 5)))
    print(f"\n{len(rows)} models. KV: BF16, while every layer caches. Details: catalog models show NAME")
    if told:
        print_chains(told)


def _chains(model: str, assume: str | None = None) -> tuple[Chain, ...]:
    from infer_cost.model_specs import catalog
    from infer_cost.model_specs.explained import model_chains
    from infer_cost.model_specs.names import find

    known = find(model)
    entry = catalog.catalog_entry(known) if known else None
    return model_chains(catalog.model(model, assume=assume), entry, FORMATS)


def _billions(value: float) -> str:
    return f"{value / 1e9:,.2f} B" if value < 1e10 else f"{value / 1e9:,.1f} B"


def _entry(entry: Any) -> dict[str, Any]:
    fields = ("id", "name", "hf_id", "aliases", "source", "read", "confidence", "note")
    return {field: getattr(entry, field) for field in fields}


@app.command("show")
def show(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A catalog name, a config.json, or an id.")],
    explain: Sources = False,
    as_json: Json = False,
    assume: Annotated[str | None, typer.Option(help="Read an unknown model type as this one (llama).")] = None,
) -> None:
    """Show one model: layers, parameters, bytes by format, KV cache, source."""
    from infer_cost.model_specs import catalog
    from infer_cost.model_specs.names import find

    architecture = catalog.model(model, assume=assume)
    known = find(model)
    document = _document(architecture, _entry(catalog.catalog_entry(known)) if known else None)
    told = _chains(model, assume) if explain else None
    if as_json:
        emit_explained(document, told)
    else:
        _print(document)
        if told:
            print_chains(told)


def _document(architecture: Any, entry: dict[str, Any] | None) -> dict[str, Any]:
    from infer_cost.model_specs.checkpoint import checkpoint_size
    from infer_cost.model_specs.counts import counts
    from infer_cost.model_specs.kv import (
        kv_bytes_per_token,
        kv_growth_bytes_per_token,
        state_bytes_per_sequence,
    )
    from infer_cost.model_specs.weights import weight_bytes, weight_formats

    numbers = counts(architecture)
    stored = architecture.quantization
    return {
        "model": architecture.name,
        "model_type": architecture.model_type,
        "catalog": entry,
        "source": architecture.source,
        "layers": architecture.layers,
        "hidden_size": architecture.hidden_size,
        "vocab_size": architecture.vocab_size,
        "context_length": architecture.context_length,
        "tied_embedding": architecture.head is None,
        "layer_groups": [_group(group) for group in architecture.groups],
        "parameters_total": numbers.total,
        "parameters_active": numbers.active,
        "parameters_active_without_embedding": numbers.active_without_embedding,
        "parameters_active_body": numbers.active_body,
        "parameters_stored": numbers.stored,
        "components": [
            {"kind": part.kind, "parameters": part.elements, "what": part.note} for part in numbers.components
        ],
        "checkpoint_method": stored.method if stored else None,
        "checkpoint_formats": dict(stored.formats) if stored else {},
        "checkpoint_bytes": checkpoint_size(architecture).total_bytes,
        "weight_bytes": {name: weight_bytes(architecture, weight_formats(architecture, name)) for name in FORMATS},
        "kv_bytes_per_token": kv_bytes_per_token(architecture),
        "kv_growth_bytes_per_token": kv_growth_bytes_per_token(architecture),
        "state_bytes_per_sequence": state_bytes_per_sequence(architecture),
        "notes": architecture.notes,
    }


def _group(group: Any) -> dict[str, Any]:
    mixer, ffn = group.layer.mixer, group.layer.ffn
    return {"count": group.count, "mixer": _mixer(mixer), "ffn": _ffn(ffn)}


def _mixer(mixer: Any) -> str:
    """Describe how a layer mixes tokens, in a phrase."""
    if mixer.kind == "none":
        return "none"
    if mixer.kind == "latent_attention":
        text = f"latent attention, {mixer.heads} heads, row of {mixer.cache_elements}"
    elif mixer.kind == "attention":
        text = f"attention, {mixer.heads} heads, {mixer.kv_heads} KV, width {mixer.score_dim}"
    else:
        text = f"{mixer.kind}, state of {mixer.state_elements:,}"
    if mixer.cache_stride > 1:
        text += f", one entry for {mixer.cache_stride} tokens"
    if mixer.window:
        text += f", {mixer.window_kind} window {mixer.window:,}"
    if mixer.sparse_topk:
        text += f", top {mixer.sparse_topk:,}"
    if mixer.shared_cache_elements:
        text += ", reads another layer's cache"
    return text


def _ffn(ffn: Any) -> str:
    """Describe a layer's network, in a phrase."""
    if ffn.kind == "none":
        return "none"
    if ffn.kind == "dense":
        return f"{'gated' if ffn.gated else 'dense'}, width {ffn.width:,}"
    shared = f", shared {ffn.shared_width:,}" if ffn.shared_width else ""
    return f"{ffn.experts} experts, {ffn.experts_per_token:g} a token, width {ffn.expert_width:,}{shared}"


def _print(document: dict[str, Any]) -> None:
    print(bold(document["model"]) + f"  ({document['model_type']})\n")
    print(f"{document['layers']} layers, hidden {document['hidden_size']:,}, vocabulary {document['vocab_size']:,}")
    for group in document["layer_groups"]:
        print(wrap(f"{group['count']:>3} x {group['mixer']}; network: {group['ffn']}"))
    rows = [
        ["parameters", count(document["parameters_total"]), "the language model"],
        ["active", count(document["parameters_active"]), "for one token, with embedding and head"],
        ["", count(document["parameters_active_without_embedding"]), "without tables that are looked up"],
        ["", count(document["parameters_active_body"]), "without embedding and head"],
    ]
    for part in document["components"]:
        rows.append([f"beside: {part['kind']}", count(part["parameters"]), part["what"]])
    for name, size in document["weight_bytes"].items():
        rows.append([f"weights, {name}", gigabytes(size), "embedding, head, routers, norms in 16 bits"])
    method = document["checkpoint_method"] or "16 bits"
    rows.append(["checkpoint", gigabytes(document["checkpoint_bytes"]), f"as stored: {method}"])
    rows.append(["KV a token", f"{document['kv_bytes_per_token']:,.0f} B", "BF16, while every layer caches"])
    if document["kv_growth_bytes_per_token"] != document["kv_bytes_per_token"]:
        rows.append(["", f"{document['kv_growth_bytes_per_token']:,.0f} B", "beyond all windows"])
    if document["state_bytes_per_sequence"]:
        rows.append(["state", f"{document['state_bytes_per_sequence']:,.0f} B", "a sequence, at any context"])
    print("\n" + table(["", "", ""], rows, left=(0, 2)).lstrip())
    entry = document["catalog"]
    sure = f" [{entry['confidence']}, read {entry['read']}]" if entry else ""
    print("\n" + wrap(f"source: {document['source']}{sure}", indent=""))
    for note in (*document["notes"], *([entry["note"]] if entry and entry["note"] else [])):
        print(wrap(f"- {note}", indent=""))
