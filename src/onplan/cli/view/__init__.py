"""What the command line shows: the screen, which alone writes, and the lines of each view."""
