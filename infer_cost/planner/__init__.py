"""Many configurations: sweeps, Pareto fronts, the cheapest plan for a service level, queues and fleets.

Here lives whatever chooses between deployments or looks at a stream of requests. How long one deployment takes is
:mod:`infer_cost.serving`'s to say; nothing here knows a kernel or a datasheet.
"""
