"""The service: REST, a proxy, and the device's contract."""
