"""Calls about resources without models, whose content is given as mappings."""
