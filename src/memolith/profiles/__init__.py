"""Built-in profiles: named sets of policies, one module per profile."""
