"""Send the rows of a migration concurrently, each to its result.

Contains the runner, the row queue, the operations of a row, limits and the recording of results. Start at `runner.py`.
"""
