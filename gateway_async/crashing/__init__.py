"""Crash tests for code that takes payments: whatever moment it is stopped at, is everything known afterwards?

A scenario is an async function of a client. It is run again and again against a sandbox, with a `SqliteLedger`, and
each time stopped at another moment: cancelled, or its process killed. Then a new client on the same ledger calls
`recover()`, and the sandbox, which alone knows what was really done, says whether

- nothing was charged, refunded or stored twice, or more often than in a run without faults and without a stop,
- whatever was done (charged, refunded, stored, captured, voided, settled) is known to the ledger, as done or as
  unknown, and nothing is called done that is not there,
- every intent is settled, or listed as unknown.

    from gateway_async import TransactionCreate
    from gateway_async.crashing import cancel_everywhere, kill_everywhere
    from gateway_async.sandbox import Sandbox

    async def sale(gateway):
        new = TransactionCreate(
            action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
        )
        await gateway.transactions.create(new)

    with Sandbox(terminal_delay=0.0) as sandbox:
        report = await cancel_everywhere(sale, sandbox) + await kill_everywhere(sale, sandbox, kills=20)
    report.check()

In pytest the fixture `crash_test` does all of it. `recover()` does not wait here as long as it does in earnest: the
sandbox says when nothing is under way any more.
"""

from gateway_async.crashing.cancelling import cancel_everywhere
from gateway_async.crashing.killing import kill_everywhere
from gateway_async.crashing.report import Crash, CrashReport, Kept

__all__ = ["Crash", "CrashReport", "Kept", "cancel_everywhere", "kill_everywhere"]
