"""Records and requests of the gateway: frozen values without JSON or I/O, one file per resource.

A *record* is data that the gateway returns. A *request* is the content of a create or an update. Both use the
contract's field names. Limits are declared on the fields as `Annotated` types; `_wire/validation.py` checks them.
"""
