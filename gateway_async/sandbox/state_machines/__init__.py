"""The state machines of the records, as tables.

There is one file for each record type. A transition that is not in a table is not allowed. The tables in the documents
are generated from these.
"""
