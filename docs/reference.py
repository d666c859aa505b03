"""The pages of the reference, written from what the package exports, new names too."""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import mercer
from mercer.kernels import Kernel

# Pages by title, in the order of the reference.
TITLES = {
    "kernels": "Kernels",
    "composition": "Composition, columns and validity of kernels",
    "estimators": "Estimators",
    "selection": "Selection",
    "transformers": "Transformers",
    "learning": "Learning",
    "explanation": "Explanation",
    "files": "Files and reports",
    "displays": "Displays",
    "testing": "Testing",
    "errors": "Errors and warnings",
    "penalty": "Penalties",
    "data": "Data",
    "gram": "Gram matrices",
    "features": "Feature maps",
    "functions": "Fitted functions",
    "solvers": "Solvers",
}
# Rooms for who builds on them: in full only those of their classes that are a contract.
INNER = ("features", "functions", "gram", "solvers")
# The order of the gallery: first what a kernel is, then what is done with it.
GALLERY = (
    "features_and_kernels",
    "gamma_sweep",
    "classifiers",
    "is_it_a_kernel",
    "words",
    "intervals",
    "learned_scales",
    "look_into_a_model",
    "command",
    "landmarks",
    "time_against_rows",
    "from_scikit_learn",
)


@dataclass(frozen=True)
class Name:
    """A public name, as users write it: ``mercer.Gaussian``, ``mercer.kernels.Sum``."""

    module: str
    short: str
    value: object

    @property
    def full(self) -> str:
        return f"{self.module}.{self.short}"

    @property
    def is_told(self) -> bool:
        """Whether it is documented in full; else the table of its room has its first sentence."""
        return self.module.split(".")[-1] not in INNER or self.is_contract

    @property
    def is_contract(self) -> bool:
        """Whether it says what every kind of its room has to do, or what comes back from one."""
        home = getattr(self.value, "__module__", "")
        return inspect.isabstract(self.value) or home.endswith((".contract", ".run"))

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, or what a name of other values stands for."""
        if not (inspect.isclass(self.value) or inspect.isroutine(self.value)):
            return f"Stands for ``{str(self.value).removeprefix('typing.')}``."
        doc = inspect.cleandoc(self.value.__doc__ or "")
        return " ".join(doc.split("\n\n")[0].split())

    @property
    def members(self) -> dict[str, str]:
        """Methods and properties that mercer gives a class, and what each is."""
        cls = self.value
        # Those of every kernel stand at `Kernel`.
        shared = dir(Kernel) if issubclass(cls, Kernel) and cls is not Kernel else ()
        found = {name: kind_of(cls, name) for name in dir(cls) if name not in shared}
        return {name: kind for name, kind in found.items() if kind}


def kind_of(cls: type, name: str) -> str:
    """What autodoc calls a public member that mercer defines; nothing for any other one."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    if name.startswith("_") or not owner.__module__.startswith("mercer"):
        return ""
    found = inspect.getattr_static(cls, name)
    if isinstance(found, property):
        return "property"
    # What scikit-learn puts into every estimator for its metadata routing has no source of ours.
    called = isinstance(found, (classmethod, staticmethod)) or inspect.isfunction(found)
    return "method" if called else ""


def room(name: str) -> ModuleType:
    # Of the data, the samples are what users import.
    return importlib.import_module("mercer.data.samples" if name == "data" else f"mercer.{name}")


def public_names() -> Iterator[tuple[str, Name]]:
    """Every public name with its page: those of the front door, then the others of the rooms."""
    for short in sorted(mercer._HOMES):
        name = Name("mercer", short, getattr(mercer, short))
        yield page_of(mercer._HOMES[short].split(".")[1], name), name
    for title in mercer._ROOMS:
        module = room(title)
        for short in sorted(module.__all__):
            if short not in mercer._HOMES:
                name = Name(module.__name__, short, getattr(module, short))
                yield page_of(title, name), name


def page_of(room: str, name: Name) -> str:
    value = name.value
    if room == "kernels":
        is_family = inspect.isclass(value) and issubclass(value, Kernel) and name.module == "mercer"
        return "kernels" if is_family or name.short == "kernel" else "composition"
    if room == "estimators":
        return "transformers" if hasattr(value, "transform") else "estimators"
    if room == "reports":
        return "displays" if name.short.endswith("Display") else "files"
    return room


def pages() -> dict[str, list[Name]]:
    found: dict[str, list[Name]] = {page: [] for page in TITLES}
    for page, name in public_names():
        found[page].append(name)
    return found


def write(folder: Path) -> None:
    """Write the pages of all groups, and those alone that differ from what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"index": index()} | {page: group(page, names) for page, names in pages().items()}
    for stem, text in files.items():
        path = folder / f"{stem}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def index() -> str:
    listed = "\n   ".join(TITLES)
    return (
        heading("Reference")
        + "Every public name, from the docstrings of the code.\n\n"
        + f".. toctree::\n   :maxdepth: 1\n\n   {listed}\n"
    )


def group(page: str, names: list[Name]) -> str:
    text = heading(TITLES[page])
    if page in mercer._ROOMS:
        text += f".. automodule:: {room(page).__name__}\n   :no-index:\n\n"
    rows = "\n".join(f"   * - {linked(n)}\n     - {literal(n.summary)}" for n in names)
    text += f".. list-table::\n   :widths: 30 70\n\n{rows}\n\n"
    return text + "\n".join(entry(name) for name in names if name.is_told)


def linked(name: Name) -> str:
    return f":py:obj:`{name.short} <{name.full}>`" if name.is_told else f"``{name.short}``"


def entry(name: Name) -> str:
    kind, members = "data", {}
    if inspect.isclass(name.value):
        kind = "exception" if issubclass(name.value, Exception) else "class"
        members = name.members
    elif inspect.isroutine(name.value):
        kind = "function"
    text = f".. currentmodule:: {name.module}\n\n.. auto{kind}:: {name.short}\n"
    return text + "".join(f"\n   .. auto{of}:: {member}\n" for member, of in members.items())


def heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n\n"


# What has a meaning of its own in reStructuredText is kept; else | and a last _ are themselves,
# since formulas stand in docstrings as one writes them by hand.
MARKED = re.compile(r"(``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_*)")

# Lines with markup of their own: directives, fields, examples and names of parameters.
KEPT = re.compile(r"\s*(\.\. |:|>>>|[\w*, ]+ : |[\w*]+$)")


def literal(line: str) -> str:
    """A line of prose in which bars, stars and last underscores mean themselves."""
    parts = MARKED.split(line)
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"(?<!\\)(\||\*|(?<=\w)_(?!\w))", r"\\\1", parts[at])
    return "".join(parts)


def literal_docstring(app: object, what: str, name: str, value: object, options: object,
                      lines: list[str]) -> None:  # fmt: skip
    """Let the prose of a docstring mean itself; parameters and blocks set off stay as they are."""
    inside = None
    for at, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and depth <= inside:
            inside = None
        if inside is None and line.strip().endswith("::"):
            inside = depth
        elif inside is None and not KEPT.match(line):
            lines[at] = literal(line)


def own_signature(app: object, what: str, name: str, value: object, *rest: object) -> object:
    """The arguments of the constructor, where a class looks at them before it takes them."""
    made_by = getattr(getattr(value, "__new__", None), "__module__", None) or ""
    if what != "class" or not made_by.startswith("mercer"):
        return None
    signature = inspect.signature(value.__init__)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    told = signature.replace(parameters=bare[1:], return_annotation=signature.empty)
    return str(told), ""


def in_order(script: str) -> int:
    """The place of a script in the gallery."""
    return GALLERY.index(Path(script).stem)


def in_the_site(app: object, page: str, text: list[str]) -> None:
    """Let links to a script of the gallery lead to its page with the pictures."""
    text[0] = re.sub(r"\]\(gallery/README\.rst\)", "](generated/gallery/index.rst)", text[0])
    text[0] = re.sub(r"\]\(gallery/(\w+)\.py\)", r"](generated/gallery/\1.rst)", text[0])


def setup(app: object) -> None:
    app.connect("source-read", in_the_site)
    app.connect("autodoc-process-signature", own_signature)
    # Before numpydoc makes fields of the sections.
    app.connect("autodoc-process-docstring", literal_docstring, priority=400)
