"""The pages for browsers: dashboard, terminals, payment pages and API reference.

Start at `site.py`, which lists the pages. Pages are rendered here from `templates/`, and act as control calls do. The
scripts and the stylesheet in `static/vendor/` are those of htmx and Simple.css, with their licenses.
"""
