"""Convert the columns of a file into vault-create requests.

Contains the row, its columns, the reading of values, and the comparison with a stored account. Start at `builder.py`.
"""
