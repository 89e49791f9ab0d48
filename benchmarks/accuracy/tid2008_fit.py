"""The five-parameter curve on a published example: metric values that come with TID2008.

    python benchmarks/accuracy/tid2008_fit.py TID2008/metrics_values/vif.txt TID2008/mos.txt

Both files are part of TID2008 (Ponomarenko et al. 2009): one number per line, 1,700 of them. Its authors print 0.750
and 0.586 for VIF's rank correlations (Spearman, Kendall). Zhang, Zhang, Mou and Zhang (FSIM, IEEE TIP 2011) computed
VIF themselves and print 0.749, 0.586, and after the curve PLCC 0.808 and RMSE 0.790.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from agenticiqa.research.statistics import fit_logistic


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("metric", type=Path)
    parser.add_argument("mos", type=Path)
    arguments = parser.parse_args()
    values, opinions = np.loadtxt(arguments.metric), np.loadtxt(arguments.mos)
    fit = fit_logistic(values, opinions)
    if fit is None:
        raise SystemExit("these numbers carry no curve")
    mapped = fit(values)
    rmse = float(np.sqrt(np.mean((mapped - opinions) ** 2)))
    ranks = f"SROCC {spearmanr(values, opinions)[0]:.4f}, KROCC {kendalltau(values, opinions)[0]:.4f}"
    print(f"{len(values)} pictures: {ranks}")
    print(f"after the five-parameter curve: PLCC {pearsonr(mapped, opinions)[0]:.4f}, RMSE {rmse:.4f}")
    print("b1 to b5:", ", ".join(f"{value:.4f}" for value in fit.coefficients))


if __name__ == "__main__":
    main()
