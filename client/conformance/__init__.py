"""The conformance kit: every adapter in the same situations, with its framework and the server."""
