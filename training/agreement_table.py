"""Write how well each native metric and AIQA_FR agree with people on CSIQ into a page of the documentation.

    PYTHONPATH=. python training/agreement_table.py --csiq CSIQ --write docs/measuring/metrics.md [--cache CACHE]

Replaces what stands between the two marker comments of the page. CSIQ was used for no fit.
"""

from __future__ import annotations

import argparse
import tempfile
import textwrap
import warnings
from pathlib import Path

import numpy as np
from agreement import REPLICATES, Estimate, Floats, difference, with_interval
from fit_calibrations import markdown
from measurements import CsiqValues, csiq_values
from scipy.stats import ConstantInputWarning

from agenticiqa.research.statistics import spearman
from agenticiqa.tools.aiqa_fr import fused_model
from agenticiqa.tools.metrics import METRICS

BEGIN = "<!-- agreement: begin (written by training/agreement_table.py) -->"
END = "<!-- agreement: end -->"
FUSED = "AIQA_FR"


def directed_metrics() -> list[str]:
    """All but the probes whose quantity has no good end, such as mean luminance."""
    return [name for name, metric in METRICS.items() if metric.spec.higher_is_better is not None]


def fused_scores(found: CsiqValues) -> Floats:
    parts = fused_model().parts
    raw = {name: part.raw(found.values[part.metric], found.unchanged[part.metric]) for name, part in parts.items()}
    return fused_model().scores(raw)


def agreement_block(found: CsiqValues) -> str:
    """The table and what is needed to read it, best agreement first."""
    opinion = -found.dmos
    fused = fused_scores(found)
    rows = [(FUSED, "FR", fused)]
    for name, raw in found.values.items():
        spec = METRICS[name].spec
        rows.append((name, spec.kind, raw if spec.higher_is_better else -raw))
    estimated = [(name, kind, scores, with_interval(spearman, scores, opinion)) for name, kind, scores in rows]
    estimated.sort(key=lambda row: -row[3].value)
    cells = [
        [name, kind, shown(rank), shown(difference(fused, scores, opinion)) if kind == "FR" and name != FUSED else "–"]
        for name, kind, scores, rank in estimated
    ]
    pictures, references = len(opinion), len(set(found.references))
    note = (
        f"{pictures} pictures of {references} references, all distortions together; 95 % percentile intervals over "
        f"{REPLICATES} resamples of the pictures, for the last column paired. "
        "A probe measures one kind of damage and is not meant to follow opinion over all of them."
    )
    return f"{textwrap.fill(note, 118)}\n\n{markdown(['metric', 'kind', 'SRCC', f'{FUSED} ahead by'], cells)}"


def shown(found: Estimate) -> str:
    """A probe that is the same for all pictures of some resample has no interval."""
    return f"{found.value:.4f}" if np.isnan(found.low) else str(found)


def replaced(page: str, block: str) -> str:
    """The page with ``block`` between the markers."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise SystemExit(f"The page must hold these two lines once each:\n{BEGIN}\n{END}")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])  # type: ignore[union-attr]
    parser.add_argument("--csiq", type=Path, required=True)
    parser.add_argument("--write", type=Path, help="the page; without it the block is printed")
    parser.add_argument("--cache", type=Path, help="folder for measured values; without it all are measured afresh")
    arguments = parser.parse_args()
    # A resample in which a probe is constant has no correlation; shown() says so.
    warnings.simplefilter("ignore", ConstantInputWarning)
    with tempfile.TemporaryDirectory() as temporary:
        found = csiq_values(arguments.csiq, directed_metrics(), arguments.cache or Path(temporary))
    block = agreement_block(found)
    if arguments.write is None:
        print(block)
        return
    page = arguments.write.read_text(encoding="utf-8")
    arguments.write.write_text(replaced(page, block), encoding="utf-8")


if __name__ == "__main__":
    main()
