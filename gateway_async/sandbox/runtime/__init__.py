"""The state of one running gateway.

It has the records in SQLite, the system ids, and the postbacks to deliver. A committed change is stored even if its
request is aborted. Rules for a single kind of record belong in other packages.
"""
