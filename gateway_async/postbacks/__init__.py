"""What the gateway tells of its own accord: a receiver of postbacks for any server, and an inbox that loses none.

    receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

This file is the index of the public names; each is loaded when it is first used. None of them loads the client's
network (httpx), and `PostgresInbox` loads its driver when it is made.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway_async.errors import InboxError, PostbackRefusedError
    from gateway_async.models.postbacks import Postback
    from gateway_async.postbacks.inbox import Claim, Inbox, Letter, LetterState
    from gateway_async.postbacks.postgres_inbox import PostgresInbox
    from gateway_async.postbacks.receiver import PostbackReceiver
    from gateway_async.postbacks.reconciling import Reconciled
    from gateway_async.postbacks.sqlite_inbox import SqliteInbox

__all__ = [
    "Claim",
    "Inbox",
    "InboxError",
    "Letter",
    "LetterState",
    "Postback",
    "PostbackReceiver",
    "PostbackRefusedError",
    "PostgresInbox",
    "Reconciled",
    "SqliteInbox",
]

_PLACES = {
    "Claim": "postbacks.inbox",
    "Inbox": "postbacks.inbox",
    "InboxError": "errors",
    "Letter": "postbacks.inbox",
    "LetterState": "postbacks.inbox",
    "Postback": "models.postbacks",
    "PostbackReceiver": "postbacks.receiver",
    "PostbackRefusedError": "errors",
    "PostgresInbox": "postbacks.postgres_inbox",
    "Reconciled": "postbacks.reconciling",
    "SqliteInbox": "postbacks.sqlite_inbox",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = globals()[name] = getattr(import_module(f"gateway_async.{_PLACES[name]}"), name)
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
