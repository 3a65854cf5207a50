"""What the command line does by the hooks that plugins have, too.

A class in each module is an entry point of "agent_express.hooks", like those of others.
"""
