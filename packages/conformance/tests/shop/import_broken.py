"""Cannot be imported."""

raise SystemExit("this plugin wants to leave")
