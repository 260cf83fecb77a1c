"""The types of check, one file each."""
