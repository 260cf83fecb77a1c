"""Templates and conditions: parse, check, evaluate."""
