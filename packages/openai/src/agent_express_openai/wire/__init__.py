"""Our types to OpenAI's and back. Everything here is pure: dicts in, dicts out, no SDK, no network."""
