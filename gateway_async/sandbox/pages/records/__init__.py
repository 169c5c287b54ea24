"""The pages about stored records: lists, details, ledger and batches.

Start at `families.py`, which says what the lists show.
"""
