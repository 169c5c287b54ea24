"""What the gateway talks about: frozen values without JSON or I/O, one file for each noun.

A *record* is what the gateway answers, a *request* is what it is asked to make or change. Both bear the contract's
field names. Limits stand beside the fields, as `Annotated` types; checking them is `_wire/limits.py`.
"""
