"""Models: what a checkpoint stores, what a token computes, what the cache keeps.

Here live the readers of Hugging Face ``config.json`` files, the shipped catalog of models, and the counts
that follow from an :class:`~infer_cost.model_specs.architecture.Architecture`: parameters, bytes by number
format, KV cache and recurrent state. What a GPU does with them (sharding, time, what fits) lives in
``serving``.
"""
