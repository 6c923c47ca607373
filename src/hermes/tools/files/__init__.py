"""The file tools: what a path means, opening it judged, reading, writing, patching, searching."""
