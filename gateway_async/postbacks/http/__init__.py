"""Receive postbacks over HTTP on any server.

Contains one small adapter for each kind of server, and the body reader and the response that they share.
Start at `adapters.py`.
"""
