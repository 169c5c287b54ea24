"""Payments: `create.py` charges an account, `change.py` voids, completes and changes payments.

`account.py` finds the account that a request names, `rules.py` says what a request must have, `issuer.py` approves or
declines, and `invoice_balance.py` keeps the balance of an invoice.
"""
