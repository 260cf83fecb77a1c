"""The review of a change: how large it is, what its steps gave, and what is decided. Pure; what runs things stands in `app`."""
