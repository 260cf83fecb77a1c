"""Maths on numbers only; knows no noun of ours."""
