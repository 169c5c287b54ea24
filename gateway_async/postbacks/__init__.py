"""Receive the gateway's postbacks on any server, and store them durably in an inbox.

    receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

`PostgresInbox` loads its driver when it is created.
"""

from gateway_async.errors import InboxError, PostbackRefusedError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox.protocol import Claim, Inbox, PostbackState, StoredPostback
from gateway_async.postbacks.inbox.store import PostgresInbox, SqliteInbox
from gateway_async.postbacks.missed import CatchUpResult
from gateway_async.postbacks.receiver import PostbackReceiver
from gateway_async.telemetry.health import InboxHealth, ReceiverHealth

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
