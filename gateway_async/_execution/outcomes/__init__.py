"""Find out whether a write was executed.

Contains the lookups after a lost response and after a crash, and the recorder of a client's ledger.
Start at `outcome_resolver.py`.
"""
