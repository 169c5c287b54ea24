"""Read exceptions: the first of a group, and the text of one without secrets."""

from gateway_async._secrets import mask_text


def first_error(error: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an exception, masked."""
    return mask_text(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
