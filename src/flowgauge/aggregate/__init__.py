"""Trials become benchmarks."""
