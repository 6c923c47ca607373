"""What Hermes remembers between conversations: plain files, with a history beside them."""
