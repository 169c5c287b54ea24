"""The banner of a running sandbox: everything needed for a first call, ready to paste."""

from collections.abc import Mapping
from textwrap import indent
from typing import TYPE_CHECKING

import attrs
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

if TYPE_CHECKING:
    from gateway_async.sandbox import SandboxInfo

__all__ = ["sandbox_banner"]

ENVIRONMENT = {
    "GATEWAY_BASE_URL": "base_url",
    "GATEWAY_DEVELOPER_ID": "developer_id",
    "GATEWAY_USER_ID": "user_id",
    "GATEWAY_USER_API_KEY": "user_api_key",
    "GATEWAY_LOCATION_ID": "location_id",
}
"""The variables that `AsyncGateway.from_env()` reads → the field of `SandboxInfo` that each contains."""

FIRST_CALL = """\
curl -H "developer-id: $GATEWAY_DEVELOPER_ID" \\
     -H "user-id: $GATEWAY_USER_ID" \\
     -H "user-api-key: $GATEWAY_USER_API_KEY" \\
     "$GATEWAY_BASE_URL/v2/contacts\""""


def sandbox_banner(info: "SandboxInfo", settings: Mapping[str, str]) -> RenderableType:
    """Build the banner of a running sandbox.

    It shows the sandbox's throw-away credentials on purpose. It has no frame and no padding on the right, because both
    would be copied with the lines and break them.
    """
    values = attrs.asdict(info)
    exports = "\n".join(f"export {name}={values[field]}" for name, field in ENVIRONMENT.items())
    others = {name: value for name, value in values.items() if name not in ENVIRONMENT.values()}
    return Group(
        Rule(Text(f"The sandbox gateway is ready at {info.base_url}", style="bold green"), align="left"),
        _table(settings),
        _part("Paste into your shell, for AsyncGateway.from_env():", Text(indent(exports, "  "), style="cyan")),
        _part("A first call:", Text(indent(FIRST_CALL, "  "), style="cyan")),
        _part("Other values:", _table(others)),
        _part(
            "Faults, clock, terminals and ledger, without credentials:",
            Text(f"  {info.base_url}/_sandbox/"),
        ),
        Rule(),
        Text("Press Ctrl-C to stop.", style="dim"),
    )


def _part(headline: str, content: Text) -> Text:
    return Text.assemble("\n", (headline, "bold"), "\n", content)


def _table(values: Mapping[str, str]) -> Text:
    width = max(map(len, values))
    return Text("\n").join(
        Text.assemble("  ", (f"{name:{width}}", "dim"), "  ", value) for name, value in values.items()
    )
