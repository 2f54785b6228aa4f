"""Readers: from the keys of a ``config.json`` to an
:class:`~infer_cost.model_specs.architecture.Architecture`.

One module a kind of model: ``decoder`` (Llama and everything built like it), ``latent`` (MLA), ``gemma``,
``deepseek_v4``, ``hybrid`` (linear attention and Mamba), ``legacy`` (2019 to 2022), ``vision`` (towers
beside a language model). :mod:`.registry` maps ``model_type`` to them.
"""
