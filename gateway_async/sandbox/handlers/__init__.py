"""The request handlers, one file for each resource; shared files handle payments and payment pages.

A handler decides what a request may do. `../routes.py` assigns it to a path; to add an endpoint, start there. The
fields are in `../schema/`, the states in `../state_machines/`, and handlers for simple records in
`../request/records.py`.
"""
