"""The names of record types in words, by path segment."""

from gateway_async.sandbox.schema import TABLES

__all__ = ["NAMES", "operation_id", "plural_name", "schema_name", "segment_of", "with_article"]


NAMES = {table.plural: table.name for table in TABLES.values() if table.name}


def segment_of(path: str) -> str:
    """Return the segment of a path that names the record type."""
    return path.removeprefix("/v2").split("/")[1]


def schema_name(plural: str) -> str:
    """Return the name of the schema of a record type: `accountvaults` is "AccountVault"."""
    return NAMES[plural].title().replace(" ", "")


def with_article(plural: str) -> str:
    """Return the name of one record: "a contact", "an account vault"."""
    name = NAMES[plural]
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def plural_name(plural: str) -> str:
    """Return the name of several records: "contacts", "transaction batches"."""
    name = NAMES[plural]
    if name == "file storage":
        return name
    return f"{name}{'es' if name.endswith('ch') else 's'}"


def operation_id(summary: str) -> str:
    """Return the id of an operation: "Create a contact" is `createContact`."""
    first, *others = [word for word in summary.split() if word not in ("a", "an", "the")]
    return first.lower() + "".join(word[0].upper() + word[1:] for word in others)
