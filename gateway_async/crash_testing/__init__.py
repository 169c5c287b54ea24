"""Crash tests for payment code: stop it at every moment, and check that every payment is known afterwards.

A scenario is an async function that takes a client. It runs many times against a sandbox, with a `SqliteLedger`. Each
run is stopped at a different moment: the scenario is cancelled, or its process is killed. Then a new client with the
same ledger calls `recover()`. The sandbox knows what was really done, so these rules are checked:

- Nothing was charged, refunded or stored twice, or more often than in a run without faults and crashes.
- Every effect (charged, refunded, stored, captured, voided, settled) is in the ledger, as done or as unknown. The
  ledger lists nothing as done that does not exist.
- Every intent has an outcome, or is listed as unknown.

    from gateway_async import TransactionCreate
    from gateway_async.crash_testing import cancel_everywhere, kill_everywhere
    from gateway_async.sandbox import Sandbox

    async def sale(gateway):
        new = TransactionCreate(
            action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
        )
        await gateway.transactions.create(new)

    with Sandbox(terminal_delay=0.0) as sandbox:
        report = await cancel_everywhere(sale, sandbox) + await kill_everywhere(sale, sandbox, kills=20)
    report.check()

In pytest, the fixture `crash_test` does all of this. `recover()` does not wait as long here as in production, because
the sandbox reports when no request is in progress any more.
"""

from gateway_async.crash_testing.cancellation import cancel_everywhere
from gateway_async.crash_testing.process_kill import kill_everywhere
from gateway_async.crash_testing.report import CallOutcome, Crash, CrashReport
from gateway_async.crash_testing.run import CrashTest

__all__ = ["CallOutcome", "Crash", "CrashReport", "CrashTest", "cancel_everywhere", "kill_everywhere"]
