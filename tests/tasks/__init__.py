"""Tasks that are checked by what is on the disk, and who plays them."""
