"""The server: ways to reach the operations of `app.operations` from elsewhere, and nothing else.

JSON-RPC and its description, events, MCP, metrics; who may call; the client for
all that. What an operation does stands in `app`.
"""
