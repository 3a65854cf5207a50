"""Pictures of an onion. Pure."""
