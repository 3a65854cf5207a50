"""What the command line does by the hooks that plugins have, too. Each module is an entry point of "agent_express.hooks"."""
