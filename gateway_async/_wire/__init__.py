"""What goes over the line, as pure functions and values.

The law of this folder: no I/O, no clock, no chance, no await. Time, made-up ids and jitter come in as parameters, so
that every rule about money can be tested as a table.
"""
