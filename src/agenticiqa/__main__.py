"""``python -m agenticiqa``: the command line."""

from __future__ import annotations

from agenticiqa.cli.main import main

main()
