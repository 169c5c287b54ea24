"""The postbacks of the sandbox (contract, "Events").

This package has the configs, the changes to report, and the delivery log. Each change is reported to every config that
asks for it, with the record as it was at that moment.
"""
