"""The fifteen stages of one request: what each adds to latency and cost, what limits it, and what is without it.

The serving model's times are divided here, not computed: a stage's share is what the totals lose when its work is
left out. Nothing here knows an engine's kernels or a model's layers.
"""
