"""The names of record types in words, by path segment."""

__all__ = ["NAMES", "operation_id", "plural_name", "schema_name", "with_article"]


NAMES = {
    "accountvaults": "account vault",
    "contacts": "contact",
    "files": "file",
    "locationinfos": "location info",
    "locations": "location",
    "notes": "note",
    "paylinks": "paylink",
    "postbackconfigs": "postback config",
    "productfiles": "file storage",
    "quickinvoices": "quick invoice",
    "recurrings": "recurring",
    "routeraccountvaults": "router account vault",
    "routertransactions": "router transaction",
    "tags": "tag",
    "terminals": "terminal",
    "token": "token",
    "transactionbatches": "transaction batch",
    "transactions": "transaction",
    "users": "user",
}


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
