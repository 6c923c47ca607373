"""The gateway as a process among others: started, stopped, restarted, and kept by a supervisor."""
