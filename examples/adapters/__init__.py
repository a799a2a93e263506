"""One agent in several frameworks: it pays an invoice, and asks first."""
