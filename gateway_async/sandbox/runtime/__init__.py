"""The state of one running gateway: records in SQLite, system ids, and postbacks to deliver.

A committed change is kept even if its request is aborted. Rules for a single record type belong in other packages.
Start at `gateway.py`.
"""
