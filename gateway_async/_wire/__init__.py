"""Requests and responses of the gateway's API, as pure functions and values.

Modules in this package do no I/O, read no clock, use no randomness and never await. Time, generated ids and jitter are
passed as parameters, so that every rule about money can be tested as a table.
"""
