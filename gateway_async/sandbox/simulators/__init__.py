"""Simulations of a clock, cards, their issuer, terminals and faults.

They read no table and handle no request. `issuer_decisions.py` approves or declines a card; start there.
"""
