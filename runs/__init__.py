"""What an agent does: the run, its state machine, and how agents reach it over HTTP."""
