"""Who: tenants, people, groups, agents and their keys."""
