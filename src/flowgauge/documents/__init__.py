"""Files that people write: YAML and JSON as plain values that know their lines, and what was found wrong with them."""
