"""Control of a gateway from outside the contract: control calls, faults, end-of-day jobs and seed data.

These calls need no credentials, and no request of the contract can have the same effect. Start at `control_calls.py`.
"""
