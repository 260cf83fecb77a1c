"""Flowgauge measures AI workflows and decides with the measurements."""
