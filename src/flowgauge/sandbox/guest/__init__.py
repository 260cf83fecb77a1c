"""What runs inside a worker process.

Only the standard library, and only relative imports: the worker loads this
folder as a package of its own, without Flowgauge and what that would import.
"""
