"""The working memory: todos, rules, dialects, ledger, reminders. Standard library only; knows no model,
no tool, no storage and no terminal."""
