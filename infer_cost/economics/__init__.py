"""Economics of serving: owning and renting, break-even against an API, memory tiers, price lists, clusters.

Here live pure formulas of money, power and traffic, and the few functions that put them together with an estimate of
:mod:`infer_cost.serving`. Physics isn't repeated here: throughput and GPU-seconds come from there, bills from
:mod:`infer_cost.pricing`.
"""
