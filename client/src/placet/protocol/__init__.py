"""What the server and every client say to each other, written once.

Canonical JSON, digests, states, refusal codes and limits; nothing here imports more than
the standard library and `rfc8785`.
"""
