"""Nouns become ordered trials with run ids."""
