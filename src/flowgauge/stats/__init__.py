"""Maths on numbers only; knows no noun of ours.

Lists of floats and counts in; numbers, pairs of numbers or None (unknown) out.
Every formula names its source; docs/statistics.md says them in plain words.
"""
