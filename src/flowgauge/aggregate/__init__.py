"""Trials become benchmarks.

    rows → tallies (a cell each) → cells, configurations, nodes → leads, front, agreement → BenchSummary → Benchmarks

Pure: reads no store, no clock and no settings. Rows are read once, in any order.
"""
