"""The adapters that come with Flowgauge: one file and one row of `table.py` each."""
