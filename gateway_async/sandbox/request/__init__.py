"""Request processing that all record types share: credentials, bodies, lists and expands.

Every request gets a record or a 4xx. No part of a request is ignored silently. Start at `records.py`.
"""
