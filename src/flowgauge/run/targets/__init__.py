"""Kinds of target: what a trial calls.

A kind is one file with a class that is a `TargetCaller`, and one row in `table.TARGETS`.
"""
