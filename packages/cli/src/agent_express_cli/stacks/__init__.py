"""The commands `stack ...`: a stack shown, checked and locked."""
