"""The commands `plugins ...`: what is installed, how it is set up, and whether it works."""
