"""Simulations of a clock, cards, terminals and faults.

They read no table and handle no request. `cards.py` reads cards, and `terminals.py` presents them.
"""
