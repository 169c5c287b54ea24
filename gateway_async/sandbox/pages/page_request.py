"""One request for a page: what it asks for, and the ways to respond."""

import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlencode

import attrs
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gateway_async.sandbox.http.responses import RefusedError, UnknownRecordError
from gateway_async.sandbox.pages.rendering import render
from gateway_async.sandbox.request.context import read_body
from gateway_async.sandbox.runtime.gateway import Gateway

_SEE_OTHER = 303
_MOST_DIGITS = 9
_MOST_FIELDS = 1000


@attrs.frozen
class PageRequest:
    """One request for a page.

    Attributes:
        error_template: The template that shows what is wrong with the request.
        form: The fields of the submitted form; empty for a GET.
        problem: Why the form was refused, which makes the status of its page 422; "" if it was not.
    """

    gateway: Gateway
    http_request: Request
    error_template: str
    form: dict[str, str] = attrs.field(factory=dict)
    problem: str = ""

    def parameter(self, name: str) -> str:
        """A part of the path, such as the id in `/terminals/{id}`."""
        return str(self.http_request.path_params[name])

    def query(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self.http_request.query_params.get(name, default)

    def page_number(self) -> int:
        """The number of the requested page of a list, from 1."""
        text = self.query("page", "1")
        return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 1

    def render(self, template: str, status: int = 200, /, **values: object) -> Response:
        """Render a template; some values are known to every template."""
        common = {
            "info": self.gateway.info,
            "currency": self.gateway.currency,
            "path": self.http_request.url.path,
            "csrf_token": self.gateway.csrf_token,
            "problem": self.problem,
            "now": self.gateway.clock.now(),
            "versions": urlencode(self.gateway.live_updates.versions()),
        }
        return render(template, 422 if self.problem else status, **common, **values)

    def redirect(self, path: str) -> Response:
        """Send the browser to another page after a form was submitted."""
        return RedirectResponse(path, _SEE_OTHER)

    async def with_form(self) -> "PageRequest":
        """Read the submitted form.

        Raises:
            RefusedError: 413, the form is too large; 403, its token is not the one of this sandbox.
        """
        text = (await read_body(self.http_request)).decode(errors="replace")
        try:
            fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise RefusedError(413, f"The form has more than {_MOST_FIELDS} fields.") from None
        form = {name: values[-1] for name, values in fields.items()}
        if not hmac.compare_digest(form.pop("csrf_token", "").encode(), self.gateway.csrf_token.encode()):
            raise RefusedError(403, "This form is from before the sandbox was started. Load the page again.")
        return attrs.evolve(self, form=form)

    def show_error(self, error: Exception) -> Response:
        """Show that something is wrong with the request."""
        match error:
            case RefusedError():
                status, message = error.status_code, error.message
            case UnknownRecordError():
                status, message = 404, str(error)
            case _:
                status, message = 422, str(error)
        return self.render(self.error_template, status, message=message)


PageView = Callable[[PageRequest], Awaitable[Response]]
"""A function that shows a page, or does what its form asks for."""
