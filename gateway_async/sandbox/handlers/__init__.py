"""The request handlers, one file for each resource, and a folder for payments.

A handler decides what a request may do. `../routes.py` assigns it to a path; to add an endpoint, start there. The
fields are in `../contract/`, the states in `../state_machines/`, and the handlers of records without rules of their own
in `../request/standard_handlers.py`.
"""
