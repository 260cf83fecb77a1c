"""Where everything is kept: one interface, SQLite and PostgreSQL."""
