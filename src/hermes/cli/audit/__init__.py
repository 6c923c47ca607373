"""hermes audit: what was done, and a check that the record was not changed."""
