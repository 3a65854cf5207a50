"""`python -m agent_express_cli` is `agent-express`."""

import sys

from .main import main

sys.exit(main())
