"""hermes tools: which tools the model is offered."""
