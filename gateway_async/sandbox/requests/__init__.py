"""From a request to a record and back, the same for every noun: who asks, for what, and what is shown.

The law of this folder: whatever arrives is met with a record or a 4xx, and nothing that was sent is dropped in silence.
"""
