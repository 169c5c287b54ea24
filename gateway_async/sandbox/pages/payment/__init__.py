"""The pages on which a customer pays an invoice or a paylink.

Start at `views.py`, which has a function for each page. The payments themselves are made by
`handlers/payment_pages.py`.
"""
