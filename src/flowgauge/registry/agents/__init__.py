"""Baselines of agents: what one did at each change, kept as numbered snapshots, and whether it still does as well.

Pure but for `files`: facts in, snapshots, verdicts and trends out.
"""
