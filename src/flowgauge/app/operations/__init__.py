"""What the product does, by name: one table for JSON-RPC, MCP, the Python client and `operation` nodes.

A group of operations is a module; an operation is a row of its `ROWS`. See `table.py`.
"""
