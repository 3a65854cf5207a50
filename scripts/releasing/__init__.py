"""Release the packages of this repository together: `scripts/release`, or `python -m releasing` in `scripts/`."""
