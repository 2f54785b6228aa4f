"""Parameters of the vision and audio towers beside a language model.

Only their number is wanted here: a tower takes memory and a checkpoint stores it. Towers whose config the
file doesn't hold are not counted, and a note says so.
"""

from __future__ import annotations

from collections.abc import Callable

from infer_cost.model_specs.architecture import Component
from infer_cost.model_specs.config import Config

Counter = Callable[[Config, Config, int], int]


def components(config: Config, kind: str, text_hidden: int) -> tuple[Component, ...]:
    """Return the towers of a multimodal model that can be counted."""
    tower = config.section("vision_config")
    counter = _COUNTERS.get(kind)
    found: tuple[Component, ...] = ()
    if tower is None and kind in _RELEASED:
        config.note("vision_config absent, the tower of the released checkpoint is assumed")
        tower = Config({})
    if tower is None or counter is None:
        config.note("the vision tower is not counted")
    else:
        found = (Component("vision", counter(config, tower, text_hidden), "vision tower and projector"),)
    audio = config.section("audio_config")
    if audio is None:
        return found
    if kind != "gemma4":
        config.note("the audio tower is not counted")
        return found
    return (*found, Component("audio", _gemma4_audio(audio, text_hidden), "audio tower and projector"))


def _encoder_layer(width: int, inner: int, bias: bool = True) -> int:
    """Elements of a layer with four projections, two of a network and two LayerNorms."""
    biases = 5 * width + inner if bias else inner + width
    return 4 * width * width + 2 * width * inner + biases + 4 * width


def _patches(tower: Config) -> int:
    side = tower.integer("image_size") // tower.integer("patch_size")
    return side * side


def _pixels(tower: Config) -> int:
    return tower.integer("num_channels", "in_channels", default=3) * tower.integer("patch_size") ** 2


def _size(tower: Config) -> tuple[int, int, int]:
    """Return width, inner width and layers."""
    return (
        tower.integer("hidden_size"),
        tower.integer("intermediate_size"),
        tower.layers("num_hidden_layers", "depth"),
    )


def _siglip(config: Config, tower: Config, text_hidden: int) -> int:
    """SigLIP with Gemma's projector: one matrix and a norm."""
    width, inner, layers = _size(tower)
    embeddings = (_pixels(tower) + 1 + _patches(tower)) * width
    return embeddings + layers * _encoder_layer(width, inner) + 2 * width + width * text_hidden + width


def _clip(config: Config, tower: Config, text_hidden: int) -> int:
    """CLIP with LLaVA's projector of two biased matrices."""
    width, inner, layers = _size(tower)
    embeddings = (_pixels(tower) + 1 + _patches(tower) + 1) * width
    encoder = embeddings + layers * _encoder_layer(width, inner) + 4 * width
    return encoder + (width + 1) * text_hidden + (text_hidden + 1) * text_hidden


def _qwen3(config: Config, tower: Config, text_hidden: int) -> int:
    """Qwen3-VL: a merger of two by two patches, once more for each deep level that feeds the decoder."""
    width, inner, layers = _size(tower)
    out = tower.integer("out_hidden_size", default=text_hidden)
    merged = width * tower.integer("spatial_merge_size", default=2) ** 2
    pixels = _pixels(tower) * tower.integer("temporal_patch_size", default=2)
    network = merged * merged + merged + merged * out + out
    deep = len(tower.list_of("deepstack_visual_indexes") or [])
    embeddings = (pixels + 1 + tower.integer("num_position_embeddings")) * width
    mergers = (2 * width + network) + deep * (2 * merged + network)
    return embeddings + layers * _encoder_layer(width, inner) + mergers


def _mllama(config: Config, tower: Config, text_hidden: int) -> int:
    """Llama 3.2 Vision: a local and a gated global encoder, embeddings of tiles and aspect ratios."""
    width, inner, layers = _size(tower)
    deep = tower.integer("num_global_layers")
    tiles = tower.integer("max_num_tiles")
    ratios = len(tower.list_of("supported_aspect_ratios") or []) + 1
    positions = _patches(tower) + 1
    embeddings = _pixels(tower) * width + width + positions * width
    tile_positions = ratios * tiles * positions * width + 1
    tile_ratios = 2 * (ratios * tiles * width + 1)
    encoders = layers * _encoder_layer(width, inner, bias=False) + deep * (_encoder_layer(width, inner, bias=False) + 2)
    output = tower.integer("vision_output_dim")
    return embeddings + tile_positions + tile_ratios + 4 * width + encoders + output * text_hidden + text_hidden


def _kimi(config: Config, tower: Config, text_hidden: int) -> int:
    """MoonViT with a patch merger."""
    width = tower.integer("vt_hidden_size")
    inner = tower.integer("vt_intermediate_size")
    layers = tower.layers("vt_num_hidden_layers")
    positions = tower.integer("init_pos_emb_height") * tower.integer("init_pos_emb_width")
    merge = tower.integers("merge_kernel_size") or [2, 2]
    merged = width
    for side in merge:
        merged *= side
    embeddings = (_pixels(tower) + 1 + positions) * width
    projector = 2 * width + merged * merged + merged + merged * text_hidden + text_hidden
    return embeddings + layers * _encoder_layer(width, inner) + 2 * width + projector


def _minimax(config: Config, tower: Config, text_hidden: int) -> int:
    """MiniMax-M3: CLIP-like with rotary positions, a projector and a patch merger."""
    width, inner, layers = _size(tower)
    compression = tower.section("img_token_compression_config")
    frames = compression.integer("temporal_patch_size", default=2) if compression else 2
    merge = compression.integer("spatial_merge_size", default=2) if compression else 2
    projector = config.integer("projector_hidden_size", default=text_hidden)
    encoder = _pixels(tower) * frames * width + 2 * width + layers * _encoder_layer(width, inner)
    two = (width + 1) * projector + (projector + 1) * text_hidden
    merger = (text_hidden * merge * merge + 1) * projector + (projector + 1) * text_hidden
    return encoder + two + merger


def _gemma4(config: Config, tower: Config, text_hidden: int) -> int:
    """Gemma 4's tower: gated networks, four norms, query and key norms, positions along two axes."""
    width, inner, layers = _size(tower)
    heads = tower.integer("num_attention_heads")
    head = tower.integer("head_dim", default=width // heads)
    kv_heads = tower.integer("num_key_value_heads", default=heads)
    positions = 2 * tower.integer("position_embedding_size", default=10_240) * width
    attention = 2 * width * heads * head + 2 * width * kv_heads * head + 2 * head
    layer = attention + 3 * width * inner + 4 * width
    return _pixels(tower) * width + positions + layers * layer + width * text_hidden


def _gemma4_audio(tower: Config, text_hidden: int) -> int:
    """Gemma 4's conformer: two networks, attention with relative keys and a light convolution a layer."""
    width = tower.integer("hidden_size", default=1024)
    layers = tower.layers("num_hidden_layers", default=12)
    heads = tower.integer("num_attention_heads", default=8)
    first, second = (tower.integers("subsampling_conv_channels") or [128, 32])[:2]
    output = tower.integer("output_proj_dims", default=1536)
    attention = 5 * width * width + width // heads
    networks = 2 * (8 * width * width + 2 * width)
    convolution = 3 * width * width + tower.integer("conv_kernel_size", default=5) * width + 2 * width
    start = 9 * first + first + 9 * first * second + second + first // 4 * second * width
    layer = attention + networks + convolution + 3 * width
    return start + layers * layer + (width + 1) * output + output * text_hidden


def _intern(config: Config, tower: Config, text_hidden: int) -> int:
    """InternViT with layer scales, and a projector of two biased matrices over merged patches."""
    width, inner, layers = _size(tower)
    merged = width * round(1 / config.number("downsample_ratio", 0.5)) ** 2
    embeddings = (_pixels(tower) + 1 + 1 + _patches(tower) + 1) * width
    projector = 2 * merged + (merged + 1) * text_hidden + (text_hidden + 1) * text_hidden
    return embeddings + layers * (_encoder_layer(width, inner) + 2 * width) + projector


def _deepseek_vl2(config: Config, tower: Config, text_hidden: int) -> int:
    """SigLIP with an attention pool; a projector over two by two patches, separators of tiles and views."""
    width = tower.integer("width")
    layers = tower.layers("layers")
    inner = int(width * tower.number("mlp_ratio", 4.0))
    side = tower.integer("image_size", default=384) // tower.integer("patch_size")
    encoder = (_pixels(tower) + 1 + side * side) * width + layers * _encoder_layer(width, inner) + 2 * width
    pool = width + 4 * (width * width + width) + 2 * width + 2 * width * inner + inner + width
    projector = (4 * width + 1) * text_hidden + (text_hidden + 1) * text_hidden
    return encoder + pool + projector + 2 * text_hidden


def _qwen2(config: Config, tower: Config, text_hidden: int) -> int:
    """Qwen2-VL and 2.5-VL: the latter with gated networks and norms without bias."""
    width = tower.integer("embed_dim" if tower.has("embed_dim") else "hidden_size")
    layers = tower.layers("depth")
    merged = width * tower.integer("spatial_merge_size", default=2) ** 2
    pixels = 3 * tower.integer("patch_size") ** 2 * tower.integer("temporal_patch_size", default=2) * width
    attention = 4 * width * width + 4 * width
    if tower.has("embed_dim"):
        inner = int(width * tower.number("mlp_ratio", 4.0))
        layer, norm = attention + 2 * width * inner + inner + width + 4 * width, 2 * width
    else:
        inner = tower.integer("intermediate_size")
        layer, norm = attention + 3 * width * inner + 2 * inner + width + 2 * width, width
    merger = norm + merged * merged + merged + merged * text_hidden + text_hidden
    return pixels + layers * layer + merger


def _llama4(config: Config, tower: Config, text_hidden: int) -> int:
    """Llama 4's tower, an adapter of two matrices after it shuffled pixels, and a projector."""
    width = tower.integer("hidden_size", default=1408)
    inner = tower.integer("intermediate_size", default=5632)
    layers = tower.layers("num_hidden_layers", default=34)
    patch = tower.integer("patch_size", default=14)
    side = tower.integer("image_size", default=336) // patch
    middle = tower.integer("projector_input_dim", default=4096)
    output = tower.integer("projector_output_dim", default=4096)
    embeddings = (3 * patch * patch + 1 + side * side + 1) * width + 4 * width
    return embeddings + layers * _encoder_layer(width, inner) + inner * middle + middle * output + output * text_hidden


def _step(config: Config, tower: Config, text_hidden: int) -> int:
    """Step's tower with layer scales, halved twice by convolutions, and a projector."""
    width = tower.integer("width", "hidden_size", default=1536)
    inner = int(width * tower.number("mlp_ratio", 8960 / 1536))
    layers = tower.layers("layers", "num_hidden_layers", default=47)
    patch = tower.integer("patch_size", default=14)
    side = tower.integer("image_size", default=728) // patch
    embeddings = (3 * patch * patch + side * side) * width + 2 * width
    halving = 9 * 2 * width * width + 2 * width + 9 * 8 * width * width + 4 * width
    projector = (4 * width + (1 if config.flag("projector_bias") else 0)) * text_hidden
    return embeddings + layers * (_encoder_layer(width, inner) + 2 * width) + halving + projector


_RELEASED = ("llama4", "step3p7")
"""Families with one tower each, whose size is known where a file leaves it out."""
_COUNTERS: dict[str, Counter] = {
    "deepseek_vl_v2": _deepseek_vl2,
    "gemma3": _siglip,
    "gemma4": _gemma4,
    "internvl_chat": _intern,
    "kimi_k25": _kimi,
    "llama4": _llama4,
    "llava": _clip,
    "minimax_m3_vl": _minimax,
    "mllama": _mllama,
    "qwen2_5_vl": _qwen2,
    "qwen2_vl": _qwen2,
    "qwen3_5": _qwen3,
    "qwen3_5_moe": _qwen3,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
    "step3p7": _step,
}
