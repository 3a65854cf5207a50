"""Reading: from a message to its words, its values and the commands in it."""
