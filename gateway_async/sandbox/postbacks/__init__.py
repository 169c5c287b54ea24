"""Postbacks of the sandbox (contract, "Events"): the changes to report, and the delivery log.

Each change is reported to every config that asks for it, with the record as it was at that moment. Start at
`changes.py`. `../runtime/postback_delivery.py` sends the postbacks.
"""
