"""Write the files of a migration: vault ids, rejects and reports.

Contains one module for each output, and the masking, formats and checks that they share. Start at `vault_ids.py`.
"""
