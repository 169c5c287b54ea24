"""Carry one HTTP request and its response over a pooled connection.

Contains the httpx transport, the connection pool, the HTTP/1.1 connection and the response parser.
Start at `transport.py`.
"""
