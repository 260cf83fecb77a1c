"""Templates and conditions: parse, check, evaluate. Neither ever runs code."""
