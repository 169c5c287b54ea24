"""Receive the gateway's postbacks on any server, and store them durably in an inbox.

    receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

This module lists the public names; each is loaded when it is first used. No name loads the client's HTTP library
(httpx). `PostgresInbox` loads its driver when it is created.
"""

from typing import TYPE_CHECKING

from gateway_async._lazy_index import lazy_index

if TYPE_CHECKING:
    from gateway_async.errors import InboxError, PostbackRefusedError
    from gateway_async.models.postbacks import Postback
    from gateway_async.postbacks.inbox.postgres import PostgresInbox
    from gateway_async.postbacks.inbox.protocol import Claim, Inbox, PostbackState, StoredPostback
    from gateway_async.postbacks.inbox.sqlite import SqliteInbox
    from gateway_async.postbacks.missed import CatchUpResult
    from gateway_async.postbacks.receiver import PostbackReceiver
    from gateway_async.telemetry.receiver_health import InboxHealth, ReceiverHealth

__all__ = [
    "CatchUpResult",
    "Claim",
    "Inbox",
    "InboxError",
    "InboxHealth",
    "Postback",
    "PostbackReceiver",
    "PostbackRefusedError",
    "PostbackState",
    "PostgresInbox",
    "ReceiverHealth",
    "SqliteInbox",
    "StoredPostback",
]

_MODULES = {
    "Claim": "postbacks.inbox.protocol",
    "Inbox": "postbacks.inbox.protocol",
    "InboxError": "errors",
    "InboxHealth": "telemetry.receiver_health",
    "ReceiverHealth": "telemetry.receiver_health",
    "StoredPostback": "postbacks.inbox.protocol",
    "PostbackState": "postbacks.inbox.protocol",
    "Postback": "models.postbacks",
    "PostbackReceiver": "postbacks.receiver",
    "PostbackRefusedError": "errors",
    "PostgresInbox": "postbacks.inbox.postgres",
    "CatchUpResult": "postbacks.missed",
    "SqliteInbox": "postbacks.inbox.sqlite",
}


if not TYPE_CHECKING:  # otherwise type checkers would accept every misspelled name as `Any`
    __getattr__, __dir__ = lazy_index(__name__, _MODULES)
