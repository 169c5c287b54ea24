"""Run one call at a time for each terminal.

Contains the queue, the lease that processes share, calls without a known outcome, and progress reports.
Start at `queue.py`.
"""
