"""The lives of what the gateway keeps, one file for each, as tables; the tables in the documents are printed from them.

The law of this folder: what is not in a table here is not allowed.
"""
