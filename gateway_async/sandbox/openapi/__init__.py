"""The OpenAPI description of the API, made from the routes and the field tables.

Start at `document.py`. Nothing is described twice: fields, lengths, expands and control calls come from where they are
defined. What only code knows, such as the query of an action, is in `operations.py`.
"""
