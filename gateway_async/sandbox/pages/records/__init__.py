"""The pages about stored records: lists, details, postbacks and totals.

Start at `families.py`, which says what the lists show.
"""
