"""How pages show values, and what programs sent and what is stored: without secrets.

Start at `masking.py`, which decides what is a secret.
"""
