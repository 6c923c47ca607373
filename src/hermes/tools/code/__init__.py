"""`execute_code`: a Python script of the agent that calls its tools."""
