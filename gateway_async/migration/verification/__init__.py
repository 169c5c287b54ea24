"""Read stored accounts back and compare them with the input.

Contains the command's function, the reads, the stored rows and the findings.
Start at `verify.py`.
"""
