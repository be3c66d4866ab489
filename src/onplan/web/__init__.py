"""The run player: a session folded for its page, the page as one file, and the server that follows a run."""
