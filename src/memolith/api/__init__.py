"""The public Python API: `Memolith`, `OwnerMemory` and their asynchronous versions."""
