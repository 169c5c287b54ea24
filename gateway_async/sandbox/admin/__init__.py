"""Fault effects, end-of-day jobs and seed data: changes of a gateway that no request of the contract makes."""
