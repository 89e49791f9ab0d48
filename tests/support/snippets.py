"""What the documentation shows, as things to run: commands, Python, and the folder in which they make sense.

Standard library only: ``tests/run_snippets.py`` uses it beside an environment that holds nothing but the product.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)

# Commands of plain shell blocks that do not end by themselves, or need what only the reader has.
_NOT_RUN = ("agenticiqa serve", "agenticiqa mcp", "agenticiqa tools fetch")


@dataclass(frozen=True)
class Snippet:
    """One piece of the documentation that can be run."""

    page: str
    line: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def words(self) -> list[str]:
        """A command's words, without the remark behind it."""
        return shlex.split(self.text, comments=True)

    @property
    def exit_codes(self) -> tuple[int, ...]:
        """A gate may say no: that is its work."""
        return (0, 3) if "--fail-under" in self.words or self.words[1] == "check" else (0,)

    @property
    def is_silent(self) -> bool:
        return "--quiet" in self.words


def blocks(*kinds: str) -> list[Snippet]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            if block["kind"] in kinds:
                line = text.count("\n", 0, block.start()) + 2
                found.append(Snippet(page.name, line, block["text"]))
    return found


def commands() -> list[Snippet]:
    """Lines behind ``$`` in console blocks, and the product's own commands in shell blocks; each once."""
    found: dict[str, Snippet] = {}
    for block in blocks("console", "bash", "sh"):
        for number, line in enumerate(block.text.replace("\\\n", " ").splitlines()):
            text = line.removeprefix("$ ").strip()
            shown = line.startswith("$ ") or (text.startswith("agenticiqa ") and not text.startswith(_NOT_RUN))
            if shown:
                found.setdefault(text, Snippet(block.page, block.line + number, text))
    return list(found.values())


def python_blocks() -> list[Snippet]:
    return blocks("python")


def _answered(number: int) -> str:
    """A line as `agenticiqa batch --backends` writes it, of a picture that people rated."""
    mos = 1 + number % 5
    scores = {"openai.gpt-4o": min(5.0, mos + 0.3 * (number % 3)), "embedded": 1 + (number * 7 % 9) / 2}
    models = [{"backend": name, "weight": 0.5, "quality_score": score} for name, score in scores.items()]
    told = {"final_answer": "C", "quality_reasoning": "…", "quality_score": sum(scores.values()) / 2, "models": models}
    return json.dumps({"sample_id": str(number), "status": "ok", "mos": mos, "summarizer_result": told}) + "\n"


def make_workshop(folder: Path) -> Path:
    """A folder with the files that the documentation speaks of: the examples, photo.jpg, a.png, pairs.csv …"""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    pictures = ROOT / "examples" / "pictures"
    clean, damaged = pictures / "dandelion.jpg", pictures / "dandelion_compressed.jpg"
    # Programs go by the content; the documentation's names end in what readers have.
    for name in ("original.png", "b.png", "two.jpg"):
        shutil.copy(clean, folder / name)
    for name in ("photo.jpg", "photo.png", "a.png", "one.jpg"):
        shutil.copy(damaged, folder / name)
    (folder / "pairs.csv").write_text(
        "sample_id,image_path,reference_path\n1,photo.png,original.png\n2,b.png,original.png\n", encoding="utf-8"
    )
    (folder / "answers.jsonl").write_text("".join(map(_answered, range(20))), encoding="utf-8")
    (folder / "configs").mkdir(exist_ok=True)
    (folder / "configs" / "pipeline.yaml").write_text("max_replan_iterations: 2\n", encoding="utf-8")
    return folder
