"""What people decide: interrupts, decisions, policies and the pages for them."""
