"""Sums up log files."""

from tidemark.lines import Entry, parse_line, read_entries
from tidemark.shapes import shape_of
from tidemark.summary import Summary, summarise
from tidemark.table import render_table

__all__ = ["Entry", "Summary", "parse_line", "read_entries", "render_table", "shape_of", "summarise"]
