"""The checks of `plugins doctor`, one kind a module: each has `check(registry)`."""
