"""Result lines as `agenticiqa batch` writes them, as small as the tests allow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def scored(
    sample_id: str, mos: float | None, score: float | None, status: str = "ok", **columns: Any
) -> dict[str, Any]:
    result = None if score is None else {"final_answer": "C", "quality_reasoning": "r", "quality_score": score}
    line = {"sample_id": sample_id, "status": status, "query": "Rate the quality.", "summarizer_result": result}
    return {**line, "mos": mos, "task_type": "scoring", "metadata": {"replans": 0}, **columns}


def chosen(
    sample_id: str, right: str, answer: str | None, status: str = "ok", options: list[str] | None = None, **columns: Any
) -> dict[str, Any]:
    result = None if answer is None else {"final_answer": answer, "quality_reasoning": "r"}
    return {
        "sample_id": sample_id,
        "status": status,
        "query": "Which one?",
        "options": options or ["Blur", "Noise", "JPEG"],
        "summarizer_result": result,
        "answer": right,
        "task_type": "choice",
        **columns,
    }


def fused(sample_id: str, mos: float, tool_mean: float, p: list[float], **columns: Any) -> dict[str, Any]:
    """A rated sample with everything the fusion stores."""
    from agenticiqa.score_fusion import ScoreFusion

    fusion = ScoreFusion()
    shares = dict(zip(range(1, 6), p, strict=True))
    score = fusion.fuse_scores([tool_mean], shares)
    line = scored(sample_id, mos, score, **columns)
    line["summarizer_result"]["final_answer"] = "ABCDE"[5 - max(shares, key=lambda level: shares[level])]
    line["summarizer_result"]["used_evidence"] = {
        "fusion": {
            "tool_scores": [tool_mean],
            "tool_mean": tool_mean,
            "alpha": {str(level): a for level, a in fusion.compute_perceptual_weights([tool_mean]).items()},
            "p": {str(level): share for level, share in shares.items()},
            "p_source": "log-probabilities",
            "q": score,
        }
    }
    return line


def write(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
