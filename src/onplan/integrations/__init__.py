"""Adapters for frameworks, a module each; importing this package imports none of them."""
