"""Waiting without a thread: long polls, the wake-ups that end them, and who sends those."""
