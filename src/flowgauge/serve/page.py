"""The page at `/`: says what is here, and what is not yet. No script, nothing from elsewhere."""

from __future__ import annotations

from html import escape

from flowgauge._version import __version__

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Flowgauge</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 44rem; padding: 0 1rem; }}
code, pre {{ font-family: ui-monospace, monospace; font-size: .9em; }}
pre {{ overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .25rem; }}
td {{ padding: .15rem 1rem .15rem 0; vertical-align: top; }}
</style>
</head>
<body>
<main>
<h1>Flowgauge {version}</h1>
<p>The server is up. The web application is not part of this version yet; everything that it will show can be asked for now:</p>
<table>
<tr><td><code>POST /rpc</code></td><td>JSON-RPC 2.0; <code>rpc.discover</code> lists all methods, with their types</td></tr>
<tr><td><code>GET /events</code></td><td>Server-Sent Events: plays and benches as they go on</td></tr>
<tr><td><code>POST /mcp</code></td><td>the same operations as tools for agents (Model Context Protocol)</td></tr>
<tr><td><code>GET /health</code></td><td>is the server there</td></tr>
<tr><td><code>GET /metrics</code></td><td>for Prometheus</td></tr>
</table>
<p>For example, in a terminal on this machine:</p>
<pre><code>curl -s {origin}/rpc -H 'Content-Type: application/json' \\
  -d '{{"jsonrpc":"2.0","id":1,"method":"workflow_list"}}'
curl -sN {origin}/events</code></pre>
<p>From Python:</p>
<pre><code>from flowgauge.serve.client import Client

client = Client("{origin}")
print(client.workflow_list().items)</code></pre>
<p>Where the server asks for a token, send it as <code>Authorization: Bearer TOKEN</code>;
<code>flowgauge token create</code> makes one.</p>
</main>
</body>
</html>
"""


def page(origin: str) -> str:
    """`origin` is where the browser found the server."""
    return _PAGE.format(version=escape(__version__), origin=escape(origin))
