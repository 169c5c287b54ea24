"""Files that hang on a record: putting one there, taking it away (contract, *Quick invoices*)."""

from functools import partial
from typing import Any

from gateway_async._secrets import mask_text
from gateway_async._wire.call import NOT_DONE, Call, Kind, NotDone
from gateway_async._wire.convert import FieldError
from gateway_async._wire.form import FilePart, Form, file_problems
from gateway_async._wire.noun import Noun, Ref, Scope
from gateway_async._wire.query import segment
from gateway_async._wire.unshown import read_unshown
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment, QuickInvoiceFile
from gateway_async.models.identifiers import ApiId

__all__ = ["attach", "detach"]


def attach(noun: Noun[Any], ref: Ref, attachment: Attachment, scope: Scope) -> Call[QuickInvoiceFile | None]:
    """Attach a file. A second one like it would be a second file, and nothing tells whose they are.

    Raises:
        InvalidRequestError: the id or the attachment cannot be sent.
    """
    problems = [f"attachment: {problem}" for problem in file_problems(attachment)]
    if problems:
        raise InvalidRequestError(problems)
    path, params = noun.place(ref, scope)
    return Call(
        method="POST",
        path=f"{path}/files",
        params=params,
        kind=Kind.UNNAMED,
        form=Form((), (FilePart("file[file]", "attachment", attachment),)),
        read=partial(read_unshown, QuickInvoiceFile, ("file", "quickinvoicefile")),
        sent={"filename": mask_text(attachment.filename)},
    )


def detach(noun: Noun[Any], ref: Ref, file_id: str, scope: Scope) -> Call[None]:
    """Remove a file; the record without it, or no record at all, shows that it was done.

    Raises:
        InvalidRequestError: an id cannot be sent.
    """
    path, params = noun.place(ref, scope)
    lookup: Call[Any] = Call(
        method="GET",
        path=path,
        params=(*params, ("expand", "files")),
        read=partial(_is_gone, noun, file_id),
        absent=True,
    )
    return Call(
        method="DELETE",
        path=f"{path}/files/{segment(file_id, 'file_id')}",
        params=params,
        kind=Kind.IDEMPOTENT,
        read=lambda _: None,
        api_id=ref.value if isinstance(ref, ApiId) else None,
        lookup=lookup,
    )


def _is_gone(noun: Noun[Any], file_id: str, content: Any) -> bool | NotDone:
    """Whether a file is no more among those of the record; without a list of them nobody can say."""
    record = noun.unwrapped(content)
    try:
        ids = [str(file["id"]) for file in record["files"] or ()]
    except (KeyError, TypeError):
        raise FieldError(f".{noun.name}.files", "missing, or not a list of files") from None
    return NOT_DONE if file_id in ids else True
