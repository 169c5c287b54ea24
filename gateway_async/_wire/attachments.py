"""Calls that attach a file to a record and remove it (contract, *Quick invoices*)."""

from functools import partial
from typing import Any

from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, HttpRequest, Kind, Lookup, LookupResult, LookupStatus, Recovery
from gateway_async._wire.convert import FieldError, read_nothing
from gateway_async._wire.multipart import FilePart, Form, file_problems
from gateway_async._wire.query import segment
from gateway_async._wire.record_reader import Ref
from gateway_async._wire.reply import read_undocumented
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.scope import Scope
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment, QuickInvoiceFile
from gateway_async.models.identifiers import ApiId


def attach(spec: ResourceSpec[Any], ref: Ref, attachment: Attachment, scope: Scope) -> Call[QuickInvoiceFile | None]:
    """Build the call that attaches a file.

    A repeat would attach a second file, and the record does not show which call attached a file.

    Raises:
        InvalidRequestError: the id or the attachment cannot be sent.
    """
    problems = [f"attachment: {problem}" for problem in file_problems(attachment)]
    if problems:
        raise InvalidRequestError(problems)
    path, params = spec.path_and_params(ref, scope)
    form = Form((), (FilePart("file[file]", "attachment", attachment),))
    return Call(
        request=HttpRequest(method="POST", path=f"{path}/files", params=params, form=form),
        kind=Kind.UNNAMED,
        read=partial(read_undocumented, QuickInvoiceFile, ("file", "quickinvoicefile")),
        sent={"filename": mask_text(attachment.filename)},
    )


def detach(spec: ResourceSpec[Any], ref: Ref, file_id: str, scope: Scope) -> Call[None]:
    """Build the call that removes a file.

    The lookup counts it as removed if the record does not list the file, or if the record does not exist.

    Raises:
        InvalidRequestError: an id cannot be sent.
    """
    path, params = spec.path_and_params(ref, scope)

    def lookup() -> Lookup[Any]:
        return Lookup(
            request=HttpRequest(path=path, params=(*params, ("expand", "files"))),
            read=partial(_is_gone, spec, file_id),
            not_found_result=LookupResult(LookupStatus.GONE),
            confirmation=partial(spec.absence, ref, scope),
        )

    return Call(
        request=HttpRequest(method="DELETE", path=f"{path}/files/{segment(file_id, 'file_id')}", params=params),
        kind=Kind.IDEMPOTENT,
        read=read_nothing,
        api_id=ref.value if isinstance(ref, ApiId) else None,
        recovery=Recovery(lookup=lookup),
    )


def _is_gone(spec: ResourceSpec[Any], file_id: str, content: Any) -> LookupResult[bool]:
    """Return whether the record no longer lists the file.

    Without a list of files, the outcome is unknown and a `FieldError` is raised.
    """
    record = spec.unwrap(content)
    try:
        ids = [str(file["id"]) for file in record["files"] or ()]
    except (KeyError, TypeError):
        raise FieldError(f".{spec.name}.files", "missing, or not a list of files") from None
    is_listed = file_id in ids
    return LookupResult(LookupStatus.NOT_EXECUTED) if is_listed else LookupResult(LookupStatus.EXECUTED, True)
