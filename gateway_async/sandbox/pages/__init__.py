"""The pages for browsers: overview, records, terminals, payment pages and API reference.

Start at `site.py`, which lists the pages. Pages are rendered here from `templates/`, and act through `controls/`.
`masking.py` decides what is a secret. The scripts and the stylesheet in `static/vendor/` are those of htmx, Simple.css
and Swagger UI, with their licenses.
"""
