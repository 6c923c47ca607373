"""The engine of schedules, with a real store and a clock in the test's hands."""
