"""One agent, three frameworks: it pays an invoice, and asks first."""
