"""HTTP as such: a socket that listens, answers and refusals as JSON, POSTs to receivers.

The law of this folder: it knows neither a table nor a gateway, and imports nothing of the other rooms.
"""
