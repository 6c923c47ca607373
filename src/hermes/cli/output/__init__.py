"""What commands print and ask: console, tables, wrapping, times, questions."""
