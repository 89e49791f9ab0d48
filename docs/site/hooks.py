"""What MkDocs is told besides mkdocs.yml: pages that live outside docs/, and diagrams without a script.

README, CONTRIBUTING and their like stay where people look for them and are pages of the site too; links between them
and docs/ are turned to where each lies on the site. GitHub draws ``mermaid`` blocks with a script; here each is a
drawing, made once by ``draw_diagrams.py``, so that reading needs no script of anyone.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
DIAGRAMS = Path(__file__).parent / "diagrams"
# Where a file of the repository lies on the site. Files that are no page are named, not linked.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
    "examples/results/README.md": "examples/results.md",
}
_SOURCES = {site: source for source, site in PAGES.items()}
_MERMAID = re.compile(r"^```mermaid\n(?P<source>.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<bang>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def diagram_file(source: str) -> Path:
    """The drawing of a diagram: named by its source, so that a changed one has none until it is drawn."""
    return DIAGRAMS / f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.svg"


def on_files(files: Files, *, config: Any) -> Files:
    for source, site in PAGES.items():
        files.append(File.generated(config, site, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    site = page.file.src_uri
    source = _SOURCES.get(site, f"docs/{site}")
    drawn = _MERMAID.sub(_drawing, markdown)
    return _outside_code(drawn, lambda text: _LINK.sub(lambda link: _turned(link, source, site), text))


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name functions as Sphinx does (:func:`assess`); the site shows the name alone."""
    return re.sub(r":(?:func|class|meth|attr|mod|data):<code>", "<code>", html)


def _drawing(block: re.Match[str]) -> str:
    file = diagram_file(block["source"])
    if not file.is_file():
        raise PluginError(f"A diagram has no drawing: run `python docs/site/draw_diagrams.py`.\n{block['source']}")
    return f'<div class="diagram">{file.read_text(encoding="utf-8").strip()}</div>'


def _outside_code(text: str, change: Any) -> str:
    """The text with everything changed but its code."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _turned(link: re.Match[str], source: str, site: str) -> str:
    """A link of a file in the repository, as a link of its page on the site."""
    target, anchor = link["target"], link["anchor"] or ""
    if not target or re.match(r"[a-z]+:", target):
        return link[0]
    place = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if place in PAGES:
        goal = PAGES[place]
    elif place.startswith("docs/"):
        goal = place.removeprefix("docs/")
    elif (ROOT / place).exists():
        return f"{link['text']} (`{place}`)"
    else:
        return link[0]
    return f"{link['bang']}[{link['text']}]({posixpath.relpath(goal, posixpath.dirname(site) or '.')}{anchor})"
