"""Settings of the documentation site; `nox -s docs` builds it."""

import re
import sys
from pathlib import Path

import gateway_async

EXTENSIONS = Path(__file__).with_name("_ext")
sys.path.insert(0, str(EXTENSIONS))

project = "gateway-async"
author = "the gateway-async maintainers"
version = release = gateway_async.__version__
project_copyright = "the gateway-async maintainers, MIT license"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "called_methods",
    "code_links",
    "command_pages",
    "console_lexer",
    "docstrings",
    "field_tables",
    "reference_pages",
    "screenshots",
    "side_bar",
    "sphinx_copybutton",
    "sphinx_codeautolink",
]
exclude_patterns = ["_build", "_ext", "_templates", "pictures", "reference/examples"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "show-inheritance": True,
}
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88

smartquotes = False  # options of commands keep their two hyphens

html_theme = "furo"
html_title = f"gateway-async {release}"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_search_scorer = str(EXTENSIONS / "search_scorer.js")
html_css_files = ["site.css", "reference.css"]
html_js_files = ["site.js"]
_LOGO = "../gateway_async/sandbox/pages/static/logo.svg"
html_logo = html_favicon = _LOGO
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
_COLORS = re.findall(r"stroke: (#\w+)", (Path(__file__).parent / _LOGO).read_text())
_ACCENTS = dict(zip(("light", "dark"), _COLORS, strict=True))
html_theme_options = {"navigation_with_keys": True} | {
    f"{scheme}_css_variables": {
        "color-brand-primary": accent,
        "color-brand-content": accent,
    }
    for scheme, accent in _ACCENTS.items()
}
codeautolink_global_preface = "from code_links import gateway"
codeautolink_concat_default = False

copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
copybutton_exclude = ".linenos, .gp, .go"

linkcheck_anchors = False
