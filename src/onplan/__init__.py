"""onplan: a terminal coding agent that stays on plan, and the planning memory inside it as a library."""
