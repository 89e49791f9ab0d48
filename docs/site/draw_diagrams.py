"""Draws the ``mermaid`` blocks of README and docs/ for the site: python docs/site/draw_diagrams.py

Needs chromium and npm, and only when a diagram changed; the drawings are kept in ``diagrams/``, one per source.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from hooks import _MERMAID, DIAGRAMS, ROOT, diagram_file

PAGE = """<!doctype html><meta charset="utf-8"><body><div id="drawn"></div><script src="{script}"></script><script>
mermaid.initialize({{startOnLoad: false, theme: "base", htmlLabels: false, flowchart: {{htmlLabels: false}},
  themeVariables: {{fontFamily: "system-ui, sans-serif", primaryColor: "#e9f1f5", primaryBorderColor: "#31708e",
    primaryTextColor: "#1b2a33", lineColor: "#5b7885", edgeLabelBackground: "#ffffff"}}}});
mermaid.render("{name}", {source}).then(({{svg}}) => {{
  document.getElementById("drawn").textContent = "<<<" + svg + ">>>"; }});
</script></body>"""


def main() -> int:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    sources = {block["source"] for page in pages for block in _MERMAID.finditer(page.read_text(encoding="utf-8"))}
    wanted = {diagram_file(source): source for source in sources}
    DIAGRAMS.mkdir(exist_ok=True)
    for stale in set(DIAGRAMS.glob("*.svg")) - set(wanted):
        stale.unlink()
    missing = {file: source for file, source in wanted.items() if not file.is_file()}
    if missing:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", folder, "mermaid@11"], check=True)
            script = Path(folder) / "node_modules/mermaid/dist/mermaid.min.js"
            for file, source in missing.items():
                file.write_text(_draw(source, file.stem, script, Path(folder)), encoding="utf-8")
    return 0


def _draw(source: str, name: str, script: Path, folder: Path) -> str:
    page = folder / "diagram.html"
    page.write_text(
        PAGE.format(script=script.as_uri(), name=f"diagram-{name}", source=json.dumps(_labels(source))),
        encoding="utf-8",
    )
    chromium = os.environ.get("CHROMIUM", "chromium")
    options = ["--headless", "--no-sandbox", "--allow-file-access-from-files", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [chromium, *options, "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=120
    )
    drawn = re.search(r"&lt;&lt;&lt;(.*?)&gt;&gt;&gt;</div>", done.stdout, re.DOTALL)
    if drawn is None:
        sys.exit(f"Chromium drew nothing of:\n{source}")
    return _smaller(drawn[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) + "\n"


def _labels(source: str) -> str:
    """The source with labels as mermaid wants them: it takes ``iter<max`` for the beginning of a tag."""
    return re.sub(r"\|([^|\n]*)\|", lambda label: f"|{label[1].replace('<', '#lt;').replace('>', '#gt;')}|", source)


def _smaller(svg: str) -> str:
    """The same drawing without what nobody sees: long fractions, data for scripts, arrow heads that are not used."""
    svg = re.sub(r' data-[a-z-]+="[^"]*"', "", svg)
    used = set(re.findall(r"url\(#([^)]+)\)", svg))
    svg = re.sub(r'<marker id="([^"]+)".*?</marker>', lambda m: m[0] if m[1] in used else "", svg, flags=re.DOTALL)
    return re.sub(r"-?\d+\.\d{2,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), svg)


if __name__ == "__main__":
    sys.exit(main())
