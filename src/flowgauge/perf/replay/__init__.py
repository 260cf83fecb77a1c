"""Sealed bundles of one episode: made by record, held to by replay, compared by diff."""
