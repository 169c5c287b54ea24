"""`Readiness`: the result of a readiness probe, `AsyncGateway.check()`."""

import attrs

__all__ = ["Readiness"]


@attrs.frozen(kw_only=True)
class Readiness:
    """Problems that keep calls from working; None where all is well.

    Attributes:
        gateway_problem: why the gateway did not respond as it should.
        credentials_problem: why it rejected the credentials.
        ledger_problem: why the ledger cannot be read.
        open_intent_count: calls in the ledger without a known outcome, without those in progress; None without a
            ledger or if it cannot be read. Await `recover()` to resolve them.
        seconds: the duration of the request to the gateway.
    """

    gateway_problem: str | None = None
    credentials_problem: str | None = None
    ledger_problem: str | None = None
    open_intent_count: int | None = None
    seconds: float

    @property
    def is_ready(self) -> bool:
        """Whether there is no problem. Open intents are not one."""
        return self.gateway_problem is self.credentials_problem is self.ledger_problem is None
