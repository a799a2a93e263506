"""An agent in a browser that hands the login to a person, and does no more than was approved."""
