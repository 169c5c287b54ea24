"""`gateway-async demo`: twelve chapters, each of which shows its code, runs it, and checks what it says.

`snippets.py` has the code that is shown. Start at `chapters.py`.
"""

import attrs

from gateway_async.cli.command import AsJson
from gateway_async.cli.demo.chapters import run_demo

__all__ = ["DemoCommand"]


@attrs.frozen(kw_only=True)
class DemoCommand:
    """Watch the package at work in under 15 seconds.

    Chapters: a terminal, a decline, a lost response, a refund, an invoice, a settlement, postbacks, a killed process,
    10,000 vaults and a migration. It starts a sandbox of its own, shows code, runs it, and checks each statement about
    it. The exit status is 1 if a statement is wrong.
    """

    as_json: AsJson = False

    def run(self) -> None:
        """Run all chapters."""
        run_demo(as_json=self.as_json)
