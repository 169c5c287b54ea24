"""The API reference: its pages, the requests that they send, and the tables of fields.

Start at `views.py`. What the pages show comes from the OpenAPI document.
"""
