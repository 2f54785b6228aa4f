"""Predictions held against published measurements: reading them, comparing, ranges, and fitting to one's own.

Here lives nothing that a prediction needs; whoever only asks for an estimate never imports this package.
"""
