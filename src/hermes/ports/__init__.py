"""What a part asks of another that may be replaced, where no decision of the engine reads it."""
