"""Text helpers: quoting, plurals, links, similar words, dates and media types."""
