"""Run one call at a time for each terminal.

Contains the queue, the lease that processes share, calls with an unknown outcome, and progress reports.
Start at `queue.py`.
"""
