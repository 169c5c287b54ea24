"""The state machines of the records, as tables.

A transition that is not in a table is not allowed. The tables in docs/sandbox/states.md are generated from these.
Start at `machine.py`.
"""
