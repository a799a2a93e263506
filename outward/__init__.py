"""Requests to addresses that a person or a tenant may choose: guarded, bounded, never followed."""
