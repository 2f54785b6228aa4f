"""The arithmetic that a request needs from the model, however it is served."""

from __future__ import annotations

from infer_cost.model_specs.architecture import Architecture, Mixer
from infer_cost.model_specs.counts import counts
from infer_cost.roofline.constants import MULTIPLY_ADD
from infer_cost.roofline.dispatch import Value
from infer_cost.serving.operators import STATE_FLOPS, index_pairs, seen_pairs


def request_flops(model: Architecture, new_tokens: Value, cached_tokens: Value, output_tokens: Value) -> Value:
    """Return the FLOPs of a request's prefill and decode.

    .. math:: F = 2 N_{active} (T + O - 1) - 2 N_{head} (T - 1) + F_{attention}

    Parameters
    ----------
    model : Architecture
        The model
    new_tokens, cached_tokens, output_tokens : float or array
        Prompt tokens to compute, T, prompt tokens found cached, and tokens generated, O

    Returns
    -------
    float or array
        FLOPs, a multiply-add counted as two; the head only where a token is sampled, latent attention expanded in
        prefill and absorbed in decode

    Examples
    --------
    Llama-3.1-70B reading 12,022 tokens; 1.872e15 counts the head for every token and 70e9 parameters:

    >>> from infer_cost.model_specs.catalog import model
    >>> f"{request_flops(model('llama-3.1-70b'), 12022, 0, 1):.3e}"
    '1.835e+15'
    """
    active = float(counts(model).active_without_embedding)
    steps = output_tokens - 1.0
    matrices = MULTIPLY_ADD * (active * (new_tokens + steps) - model.output_matrix.elements * (new_tokens - 1.0))
    mixing = sum(
        (group.count * _mixing_flops(group.layer.mixer, new_tokens * 1.0, cached_tokens * 1.0, steps))
        for group in model.groups
    )
    return matrices + mixing


def _mixing_flops(mixer: Mixer, new: Value, cached: Value, steps: Value) -> Value:
    """FLOPs of a layer's attention or recurrence over a whole request."""
    if mixer.kind in ("mamba", "linear"):
        return STATE_FLOPS * mixer.state_elements * (new + steps)
    if mixer.kind == "none":
        return 0.0
    # The first step finds the prompt and each one leaves a token, so the mean step stands for all of them.
    held = new + cached + (steps - 1.0) / 2.0
    read = mixer.heads * (mixer.score_dim + mixer.value_dim) * seen_pairs(new, cached, mixer)
    step = mixer.heads * (mixer.decode_score_dim + mixer.decode_value_dim) * seen_pairs(1.0, held, mixer)
    indexed = index_pairs(new, cached, mixer) + steps * index_pairs(1.0, held, mixer)
    return MULTIPLY_ADD * (read + steps * step + mixer.index_heads * mixer.index_dim * indexed)
