"""Run a migration on the workers of a Dask cluster.

Contains the entry point, the coordinator, the function that workers run, and the shard job. Start at `dask.py`.
"""
