"""Commands about the program itself: status, logs, insights, completion, uninstall."""
