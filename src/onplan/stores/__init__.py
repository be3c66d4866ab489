"""Session stores: where the append-only logs are kept. Each module is one store or a part of one."""
