"""The demonstration: questions about two pictures, answered on this machine, and one report of all of them.

    python examples/demo.py [--output demo-output]

Runs on the embedded backend: no key, no GPU, no network.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from agenticiqa import AgenticIQA, Assessment
from agenticiqa.cli.assess import print_assessment
from agenticiqa.reports.assessment import report_item, write_report

PICTURES = Path(__file__).parent / "pictures"
ORIGINAL, COMPRESSED = PICTURES / "dandelion.jpg", PICTURES / "dandelion_compressed.jpg"

QUESTIONS: list[tuple[Path, str, Path | None]] = [
    (ORIGINAL, "Rate the perceptual quality of the image.", None),
    (COMPRESSED, "Rate the perceptual quality of the image.", None),
    (COMPRESSED, "How good is it compared with the reference?", ORIGINAL),
    (COMPRESSED, "Is the picture noisy?", None),
    (COMPRESSED, "Which distortion dominates? A. Motion blur B. JPEG compression C. Underexposure", None),
    (ORIGINAL, "keep or delete?", None),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    results: list[Assessment] = []
    with AgenticIQA("embedded") as assessor:
        for picture, question, reference in QUESTIONS:
            versus = f" (reference: {reference.name})" if reference else ""
            console.print(f"\n[bold]{picture.name}[/]{versus}: {question}", highlight=False)
            result = assessor.assess(picture, question, reference=reference)
            if result.status == "error":
                raise SystemExit(f"The demonstration failed: {result.error}")
            print_assessment(console, result)
            results.append(result)
    items = [report_item(result, assessor.limits) for result in results]
    write_report(output / "report.html", items, "AgenticIQA demonstration")
    console.print(f"\nReport: {output / 'report.html'}; `agenticiqa runs list` shows the runs.", highlight=False)


if __name__ == "__main__":
    main()
