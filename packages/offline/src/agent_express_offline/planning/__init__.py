"""Planning: from a conversation and the offered tools to the calls that come next."""
