r"""Convert between the gateway's JSON and models, by these rules.

Start at `read.py`. The functions in `records.py` return the same in less time.

Reading depends on the type of the model's field. null, false in a field that is not boolean, and "" in a field that is
not text are None, because some gateways write one for another.

| type | value in JSON |
|---|---|
| `bool` | `1`, `0`, `"1"`, `"0"`, `true`, `false`, `"true"`, `"false"` |
| `Decimal` | a number or a string with exactly its digits and a limited size, never through float |
| `int` | a whole number, or its digits in a string |
| `str` | text, or a number as it was written |
| `datetime` | Unix seconds, to an aware datetime in UTC |
| `date` | `YYYY-MM-DD`, where `0000-00-00` is None |
| `datetime \| date` | either form of date, `YYYY-MM-DD HH:MM:SS` being UTC |
| open codes | the code or its digits, where unknown codes are kept |
| secrets | text |
| `Mapping[str, Decimal]` | amounts by name |
| a tuple of records | a list of them |
| a record | an object, whose unknown keys go to `extra`; missing keys are None |

Text that is not Unicode gets replacement characters, so that half an emoji does not make a payment unreadable. If an
object has a name twice, the last value counts, as in other JSON readers.

A value that does not fit raises a `FieldError` with its path. Dates, times and free-form fields are exceptions: one
that does not fit is None, and `extra` has the raw value, so that it does not make the whole response unreadable.

Writing depends on the value: `bool` → 1/0, money → `"12.50"` (the number 12.50 where the contract takes numbers), dates
→ `YYYY-MM-DD`, datetimes → Unix seconds, secrets → their plain value. `UNSET` in an update and None in a create are
omitted. In free-form fields (`custom_data`, `extra`) a `Decimal` is a number, as when it was read.
"""
