"""Writes ppi_reference.json with the reference implementation: `pip install ppi-python==0.2.3`,
then run this file.
"""

import json
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

rng = np.random.default_rng(4)
cases = []
for n, total, rate in ((30, 200, 0.5), (60, 300, 0.1), (120, 150, 0.8)):
    label = (rng.random(n) < rate).astype(float)
    score = np.clip(label + rng.normal(0, 0.4, n), 0, 1).round(6)
    others = np.clip((rng.random(total) < rate) + rng.normal(0, 0.4, total), 0, 1).round(6)
    for weight in (0.0, 0.4, 1.0):
        low, high = ppi_mean_ci(label, score, others, alpha=0.05, lam=weight)
        value = ppi_mean_pointestimate(label, score, others, lam=weight)
        cases.append(
            {
                "label": label.tolist(),
                "score": score.tolist(),
                "others": others.tolist(),
                "weight": weight,
                "value": float(np.ravel(value)[0]),
                "low": float(np.ravel(low)[0]),
                "high": float(np.ravel(high)[0]),
            }
        )
Path(__file__).with_name("ppi_reference.json").write_text(
    json.dumps(cases) + "\n", encoding="utf-8"
)
