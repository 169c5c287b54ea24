"""The nouns of the contract, a file for each, and beside them what pays: payments, pages, batches.

The law of this folder: what a request may do to a noun stands here; its fields in `tables/`, its life in `states/`.
"""
