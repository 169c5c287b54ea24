"""Convert the columns of a file into vault-create requests. Start at `builder.py`."""
