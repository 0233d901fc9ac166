"""REST API: routes, request models and response models."""
