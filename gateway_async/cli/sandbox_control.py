"""Control calls of a sandbox in another process."""

import http.client
import json
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import attrs

__all__ = ["NotASandboxError", "SandboxControl"]

_SECONDS: Final = 10.0


class NotASandboxError(Exception):
    """The gateway does not have the control calls of a sandbox."""


@attrs.frozen
class SandboxControl:
    """The control calls of the sandbox at an address."""

    base_url: str

    def check(self) -> None:
        """Find out whether a sandbox is there.

        Raises:
            NotASandboxError: another gateway responds, or none.
        """
        if "calls" not in self._get("/_sandbox"):
            raise NotASandboxError

    def postbacks(self, record_id: str) -> list[dict[str, Any]]:
        """Return the postbacks about a record, newest last."""
        found: list[dict[str, Any]] = self._get(f"/_sandbox/postbacks?{urlencode({'record_id': record_id})}")[
            "postbacks"
        ]
        return found

    def isolate_payment(self, transaction_id: str, *, settle: bool) -> str:
        """Move a payment to a batch of its own; return its id.

        Raises:
            NotASandboxError: the sandbox does not know the call.
        """
        path = f"/_sandbox/transactions/{transaction_id}/batch"
        batch = self._send("POST", path, {"settle": settle})
        if "id" not in batch:
            raise NotASandboxError
        return str(batch["id"])

    def _get(self, path: str) -> dict[str, Any]:
        return self._send("GET", path)

    def _send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        url = urlsplit(self.base_url)
        secure = url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=_SECONDS)
        try:
            connection.request(method, f"{url.path}{path}", None if body is None else json.dumps(body))
            content = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            raise NotASandboxError from None
        finally:
            connection.close()
        if not isinstance(content, dict):
            raise NotASandboxError
        return content
