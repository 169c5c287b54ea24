"""Which changes are told to whom, and what has become of the telling: the contract's "Events".

The law of this folder: each change is told to every config that asks for it, as the record was at that moment.
"""
