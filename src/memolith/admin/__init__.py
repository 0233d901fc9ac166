"""Administration of stores: backups, migration, re-embedding, and databases."""
