"""Control of a gateway from outside the contract.

This includes control calls, faults, end-of-day jobs and seed data. These calls need no credentials. No request of the
contract can have the same effect.
"""
