"""The kinds of node, one file each, in one table."""
