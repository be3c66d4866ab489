"""The command line: commands, the prompt loop and the view, the only part that prints."""
