"""Paired measurements: the product beside raw PostgreSQL, on the same machine in the same run."""
