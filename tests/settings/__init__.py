"""One test from outside for each setting: what changes when it is changed."""
