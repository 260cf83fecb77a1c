"""What calls cost: a maintained table, our aliases, the user's overrides."""
