"""Lists: pages that are fetched ahead, and records that are yielded once while the list changes."""
