"""The documented values of `reason_code_id` and `trx_source_id`."""

REASONS = (
    *range(1000, 1006),
    *(1200, 1201),
    *(1500, 1510, 1518, 1520, 1530, 1531, 1540, 1541, 1588, 1599),
    *range(1601, 1632),
    *range(1650, 1666),
    1701,
    *range(1800, 1806),
    *(*range(2101, 2148), *range(2150, 2154), *range(2161, 2175), *range(2180, 2184)),
    *(*range(2201, 2214), *range(2261, 2270)),
    *(2301, *range(2304, 2311), 2321, 2322, 2323, 2329, 2345, 2371, 2372, 2373),
)
"""Each `reason_code_id`."""

SOURCES = range(1, 17)
"""Each `trx_source_id`."""
