"""The tools of a coding agent: files, search and shell, each built from a plain async function."""
