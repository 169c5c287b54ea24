"""Controllable simulations of a clock, cards, their issuer, terminals and faults.

They read no table and handle no request. Other packages store and report their decisions.
"""
