"""How much each of several models should count: weights fitted to people's opinion of pictures that all of them rated.

The weights are those of the weighted mean of the models' scores with the least squared error, none below zero and one
in all. What they are worth is measured on pictures that they were not fitted to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml
from scipy.optimize import nnls

from agenticiqa.research import statistics
from agenticiqa.research.results import MODEL_PREFIX, EvaluationError, ResultFile, models_of, read_results, score_of

Floats = npt.NDArray[np.float64]
FEWEST_RATED = 10
"""Pictures that all models and people rated; of fewer, weights would be chance."""
FOLDS = 5
EVEN, FITTED = "all alike", "fitted"


@dataclass(frozen=True)
class Fit:
    """Weights by backend, and how far from people's opinion scores are: of each model, and of all together."""

    weights: dict[str, float]
    samples: int
    left_out: int
    """Lines without an opinion, or without the score of one of the models."""
    rmse: dict[str, float]
    srcc: dict[str, float | None]
    """Of each model, of all counted alike, and of the fitted weights on pictures that they were not fitted to."""
    collecting: dict[str, str]
    """The backends that planned and collected the evidence."""

    def as_settings(self) -> dict[str, Any]:
        """The keys of ``model_backends.yaml`` that let these models answer with these weights."""
        names = list(self.weights)
        roles: dict[str, Any] = {role: {"backend": name} for role, name in self.collecting.items()}
        return {**roles, "summarizer": {"backend": names[0], "backends": names, "weights": self.weights}}

    def as_yaml(self) -> str:
        about = f"# Models that answer together, with weights fitted to {self.samples} rated pictures.\n"
        return about + yaml.safe_dump(self.as_settings(), sort_keys=False)


def fit_weights(path: Path, *, truth: str = "mos", scale: tuple[float, float] = (1.0, 5.0)) -> Fit:
    """Weights for the models of a result file that ``agenticiqa batch --backends`` wrote.

    ``truth`` is the column with people's opinion, ``scale`` the worst and the best that it can be. Raises
    EvaluationError where the file has too little to fit to.
    """
    file = read_results(path, truth=truth)
    names = list(dict.fromkeys(str(each.get("backend")) for it in file.results for each in models_of(it.line)))
    if len(names) < 2:
        raise EvaluationError(
            f"{path} holds no answers of several models.", hint="`agenticiqa batch … --backends A,B` makes such a file."
        )
    rows = [
        ([score_of(result.line, f"{MODEL_PREFIX}{name}") for name in names], result.truth) for result in file.results
    ]
    kept = [(scores, opinion) for scores, opinion in rows if opinion is not None and None not in scores]
    if len(kept) < FEWEST_RATED:
        raise EvaluationError(
            f"Only {len(kept)} pictures of {path} have an opinion ({truth}) and a score of every model; weights need "
            f"{FEWEST_RATED}.",
            hint="Ask for a rating, and give people's opinion in a column of the manifest (--truth names it).",
        )
    scores, opinions = np.array([each for each, _ in kept], np.float64), _on_scale([each for _, each in kept], scale)
    held_out = np.empty_like(opinions)
    folds = np.arange(len(kept)) % FOLDS
    for fold in range(FOLDS):
        held_out[folds == fold] = scores[folds == fold] @ _weights(scores[folds != fold], opinions[folds != fold])
    compared = {**dict(zip(names, scores.T, strict=True)), EVEN: scores.mean(axis=1), FITTED: held_out}
    return Fit(
        weights={name: round(float(w), 4) for name, w in zip(names, _weights(scores, opinions), strict=True)},
        samples=len(kept),
        left_out=len(rows) - len(kept),
        rmse={name: float(np.sqrt(np.mean((own - opinions) ** 2))) for name, own in compared.items()},
        srcc={name: _correlation(own, opinions) for name, own in compared.items()},
        collecting=_collecting(file),
    )


def _weights(scores: Floats, opinions: Floats) -> Floats:
    """The least squared error of a weighted mean, over weights from zero on that sum to one.

    >>> _weights(np.array([[1.0, 4.0], [3.0, 2.0], [5.0, 3.0]]), np.array([1.0, 3.0, 5.0])).tolist()
    [1.0, 0.0]
    """
    # With weights w that sum to one the error is R w, R being the models' own errors. Asking for R w = 0 and the sum
    # together finds the direction of the best w, however strictly the sum is asked for; its length is set afterwards.
    strictly = np.sqrt(len(opinions))
    errors = np.vstack([scores - opinions[:, None], np.full(scores.shape[1], strictly)])
    found, _ = nnls(errors, np.append(np.zeros(len(opinions)), strictly))
    return np.asarray(found / found.sum(), np.float64)


def _on_scale(opinions: list[float], scale: tuple[float, float]) -> Floats:
    low, high = scale
    values = np.array(opinions, np.float64)
    if low == high or values.min() < min(scale) or values.max() > max(scale):
        raise EvaluationError(
            f"Opinions reach from {values.min():g} to {values.max():g}, beyond the scale {low:g},{high:g}.",
            hint="Give the worst and the best that they can be, for example --scale 0,100.",
        )
    return np.asarray(1 + 4 * (values - low) / (high - low), np.float64)


def _correlation(predicted: Floats, opinions: Floats) -> float | None:
    return float(statistics.spearman(predicted, opinions)) if np.ptp(predicted) and np.ptp(opinions) else None


def _collecting(file: ResultFile) -> dict[str, str]:
    backends: Mapping[str, Any] = file.results[0].metadata.get("backend") or {}
    return {role: str(backends[role]) for role in ("planner", "executor") if backends.get(role)}
