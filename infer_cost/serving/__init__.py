"""A model on a machine: memory plan, operators, step time, prefill, decode, steady state.

Here lives whatever needs a model and a machine together. Prices of tokens, stages of a request and searches over
many deployments are a floor above; formulas of plain numbers are in :mod:`infer_cost.roofline`.
"""
