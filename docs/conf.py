"""The site: guide, gallery and reference, built by `make docs` into build/docs."""

import logging
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import reference  # noqa: E402

import mercer  # noqa: E402

# Scripts of the gallery show what they print, and not the phases of every fit.
logging.getLogger("mercer").setLevel(logging.WARNING)
reference.write(HERE / "generated" / "reference")

project = "mercer"
author = copyright = "The mercer developers"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "reference",
]
exclude_patterns = ["gallery", "generated/backreferences"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 88
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "reference.in_order",
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("mercer",),
}

html_theme = "furo"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_copyright = False
html_copy_source = False
