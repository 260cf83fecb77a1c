"""The kinds of node, one file each: its fields, its check, its run; one table.

`table.NODES` names them, `codec` turns workflows into bytes and back,
`topology` says which node waits for which.
"""
