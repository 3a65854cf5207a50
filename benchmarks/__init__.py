"""What the framework costs, as multiples of what plain Python pays for the same in the same run."""
