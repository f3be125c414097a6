"""What the site is made of beside the pages of docs/, for MkDocs.

* Pages that live elsewhere in the repository (README files of studies, CONTRIBUTING, ...) are taken from there: one source.
* A link to a file of the repository leads to its page; a file that has none (a study in one file) gets one that shows it.
* The rows of the ledger behind a finding are set apart from it.
* A picture on a line of its own leads to itself, at its full size.
* Formulas become MathML when the site is built, so that it needs neither a script nor a network to show them.
* Notebooks show what they printed, if they were executed (`docs/make_notebooks.py`, which `make docs` does), and can be taken
  along as .ipynb.
* What `phasescope report` wrote becomes a part of the site, if it is there (`PHASESCOPE_REPORT`, else `phasescope-report`).
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from phasescope.ledger.headlines import BRACKET
from phasescope.report.mathematics import formula

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "src" / "phasescope" / "studies"
REPORT = Path(os.environ.get("PHASESCOPE_REPORT", ROOT / "phasescope-report"))

# Pages that are kept elsewhere, as path in the repository: address in the site.
KEPT_ELSEWHERE = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "RELEASING.md": "project/releasing.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
KEPT_ELSEWHERE |= {
    f"src/phasescope/studies/{page.parent.name}/README.md": f"studies/{page.parent.name}.md"
    for page in sorted(STUDIES.glob("[a-z]*/README.md"))
}
EXECUTED = ROOT / "build" / "notebooks"
LANGUAGES = {".py": "python", ".toml": "toml", ".c": "c", ".cff": "yaml"}

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r'<p>(<img [^>]*src="([^":]+)"[^>]*>)</p>')
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def address(path: str) -> str:
    """Where the site has a file of the repository."""
    if path in KEPT_ELSEWHERE:
        return KEPT_ELSEWHERE[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


def source_of(uri: str) -> str:
    """The file of the repository behind a page of the site."""
    kept = {uri: path for path, uri in KEPT_ELSEWHERE.items()}
    return kept.get(uri, f"docs/{uri}")


def linked(text: str, path: str) -> set[str]:
    """The files of the repository that a page links to."""
    prose = CODE.sub("", text)
    folder = posixpath.dirname(path)
    return {posixpath.normpath(posixpath.join(folder, found[1])) for found in LINK.finditer(prose)}


def with_links_of_the_site(text: str, path: str) -> str:
    """A page with its links to files of the repository as links to pages of the site."""
    folder, here = posixpath.dirname(path), posixpath.dirname(address(path))

    def changed(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        return f"]({posixpath.relpath(address(target), here or '.')}{found[2] or ''})"

    parts = CODE.split(text)
    return "".join(
        part if index % 2 else LINK.sub(changed, part) for index, part in enumerate(parts)
    )


def shown(path: str) -> str:
    """A page that shows a file of the repository."""
    language = LANGUAGES.get(Path(path).suffix, "")
    return f"# {path}\n\n```{language}\n{(ROOT / path).read_text()}\n```\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are kept elsewhere, and one for every other file that is linked to."""
    for path, uri in KEPT_ELSEWHERE.items():
        if (ROOT / path).exists():
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    wanted: set[str] = set()
    for file in files.documentation_pages():
        wanted |= linked(file.content_string, source_of(file.src_uri))
    for path in sorted(wanted - KEPT_ELSEWHERE.keys()):
        if not path.startswith("docs/") and (ROOT / path).is_file():
            files.append(File.generated(config, address(path), content=shown(path)))
    for notebook in sorted(EXECUTED.glob("*.ipynb")):
        add_notebook(files, config, notebook)
    return files


def add_notebook(files: Files, config: Any, notebook: Path) -> None:
    """The page of an executed notebook, with its pictures, and the notebook itself."""
    from nbconvert import MarkdownExporter

    page = files.get_file_from_path(f"notebooks/{notebook.stem}.md")
    if page is None:
        return
    resources = {"output_files_dir": f"{notebook.stem}_files"}
    body, found = MarkdownExporter().from_filename(str(notebook), resources)
    head, _, rest = body.partition("\n")
    files.remove(page)
    text = f"{head}\n\n[This notebook]({notebook.name}), as it was executed.\n{rest}"
    files.append(File.generated(config, page.src_uri, content=text))
    files.append(File.generated(config, f"notebooks/{notebook.name}", content=notebook.read_text()))
    for name, content in found["outputs"].items():
        files.append(File.generated(config, f"notebooks/{name}", content=content))


def with_quiet_rows(text: str) -> str:
    """A page with the rows behind each finding (`[thm4.5: trivial]`) as text of their own look."""
    parts = CODE.split(text)
    return "".join(
        part if index % 2 else BRACKET.sub(r'<span class="rows">\g<0></span>', part)
        for index, part in enumerate(parts)
    )


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they are in the site, quiet rows, and on the page about the report where it is."""
    text = with_links_of_the_site(markdown, source_of(page.file.src_uri))
    if page.file.src_uri.startswith(("studies/", "project/readme")):
        text = with_quiet_rows(text)
    return text.replace("<!-- where the report is -->", where_the_report_is())


def on_page_content(html_text: str, page: Any, config: Any, files: Files) -> str:
    """Formulas as MathML; one on a line of its own scrolls where it is too wide. Pictures lead to themselves."""

    def drawn(found: re.Match[str]) -> str:
        display = found[1] == "div"
        math = str(formula(html.unescape(found[2]), display=display))
        return f'<div class="display">{math}</div>' if display else math

    with_links = PICTURE.sub(r'<p><a class="picture" href="\2">\1</a></p>', html_text)
    return FORMULA.sub(drawn, with_links)


def where_the_report_is() -> str:
    """Links to the report and to what lies beside it, if it was made before the site."""
    if not (REPORT / "index.html").exists():
        return "This copy of the site was built without a report."
    whole = (
        '<a href="report/index.html">The report of all studies</a>, as it was made for this site.'
    )
    sheets = [
        f'<a href="report/{html.escape(path.name)}">{html.escape(path.stem.removeprefix("errata-"))}</a>'
        for path in sorted(REPORT.glob("errata-*.md"))
    ]
    return f"{whole} Sheets of errata: {', '.join(sheets)}." if sheets else whole


def on_post_build(config: Any) -> None:
    """Copy the report into the site."""
    if (REPORT / "index.html").exists():
        shutil.copytree(REPORT, Path(config.site_dir) / "report", dirs_exist_ok=True)
