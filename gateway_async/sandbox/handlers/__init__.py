"""The request handlers of each resource.

Shared modules handle payments, payment pages and batches. A handler decides what a request may do. The fields are in
`schema/`, and the states in `state_machines/`.
"""
