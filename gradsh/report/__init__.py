"""A report: what a session did, step by step, as data, and as one HTML page that plays it."""
