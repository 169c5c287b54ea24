"""Sign each request with the client's credentials.

Start at `authenticator.py`.
"""
