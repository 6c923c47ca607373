"""Jobs that run by the clock: the scheduler, what people do to jobs, and the tool for models."""
