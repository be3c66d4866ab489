"""Models that answer requests: one module for each vendor, and a scripted one that needs none."""
