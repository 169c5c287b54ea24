"""Names that do not exist are errors to type checkers. Never executed: each ignore must be needed, by both checkers."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

import gateway_async as ga
import gateway_async.migration as gm
import gateway_async.postbacks as gp
import gateway_async.sandbox as gs
from gateway_async import AsyncGateway
from gateway_async import AsyncGatway as Misspelt  # type: ignore[attr-defined]
from gateway_async.migration import migrate_vault as misspelled_migration  # type: ignore[attr-defined]
from gateway_async.postbacks import PostbackReciever as MisspeltReceiver  # type: ignore[attr-defined]
from gateway_async.sandbox import Sandbocks as MisspeltSandbox  # type: ignore[attr-defined]

__all__ = ["Misspelt", "MisspeltReceiver", "MisspeltSandbox", "misspelled_migration"]


async def read(gateway: AsyncGateway) -> None:
    """Use each index of names, rightly and wrongly spelled."""
    try:
        await gateway.contacts.get("id")
    except ga.RateLimitError:
        pass
    except ga.RateLimitErrr:  # type: ignore[attr-defined]
        pass
    ga.TransactionCreat  # type: ignore[attr-defined]  # noqa: B018
    gm.migrate_vault  # type: ignore[attr-defined]  # noqa: B018
    gp.SqliteInboks  # type: ignore[attr-defined]  # noqa: B018
    gs.serv  # type: ignore[attr-defined]  # noqa: B018
    gateway.contact  # type: ignore[attr-defined]  # noqa: B018
