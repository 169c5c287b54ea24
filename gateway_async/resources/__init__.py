"""The resources of the client, one file each. Their methods build a call from a spec and execute it."""
