"""What the SQL stores share: values, sealing, and the search index in memory."""
