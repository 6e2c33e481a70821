"""Write `recorded.json`: random tables of labels and the coefficients that independent programs
compute for them.

irrCAC requires exactly scipy 1.12.0, which excludes numpy 2, so these programs are not among the
development requirements. To update the file, run in a separate environment:

    pip install irrCAC==0.4.4 scikit-learn==1.9.1
    python agreement_record.py > recorded.json
"""

from __future__ import annotations

import json
import random
from typing import Any

import pandas as pd
from irrCAC.raw import CAC
from sklearn.metrics import cohen_kappa_score

TABLES = 24


def draw_table(draw: random.Random) -> tuple[int, list[list[int | None]]]:
    """Return (categories, units x annotators).

    Some tables have missing labels; each unit has at least one label.
    """
    categories, annotators = draw.choice([2, 2, 3, 4]), draw.choice([2, 3, 4])
    missing = draw.choice([0.0, 0.3])
    units = []
    for _ in range(draw.randrange(8, 30)):
        true = min(draw.randrange(categories), draw.randrange(categories))
        unit: list[int | None] = [
            None
            if draw.random() < missing
            else true
            if draw.random() < 0.7
            else draw.randrange(categories)
            for _ in range(annotators)
        ]
        unit[0] = (
            draw.randrange(categories) if not any(each is not None for each in unit) else unit[0]
        )
        units.append(unit)
    return categories, units


def record_coefficients(draw: random.Random) -> dict[str, Any]:
    categories, units = draw_table(draw)
    frame = pd.DataFrame(units, dtype="float")

    def compute_irrcac(
        coefficient: str, table: pd.DataFrame = frame, weights: str = "identity"
    ) -> float:
        ratings = CAC(table, weights=weights, categories=list(range(categories)), digits=15)
        found = getattr(ratings, coefficient)()
        return float(found["est"]["coefficient_value"])

    pairs = []
    for one in range(frame.shape[1]):
        for other in range(one + 1, frame.shape[1]):
            both = frame[[one, other]].dropna()
            labels = both[one].astype(int), both[other].astype(int)
            names = list(range(categories))
            pairs.append(
                {
                    "pair": [one, other],
                    "sklearn": float(cohen_kappa_score(*labels)),
                    "irrcac": compute_irrcac("conger", both),
                    "weighted sklearn": float(
                        cohen_kappa_score(*labels, labels=names, weights="quadratic")
                    ),
                    "weighted irrcac": compute_irrcac("conger", both, "quadratic"),
                }
            )
    found = {
        "categories": categories,
        "units": units,
        "ac1": compute_irrcac("gwet"),
        "ac2": compute_irrcac("gwet", weights="quadratic"),
        "alpha": compute_irrcac("krippendorff"),
    }
    if not frame.isna().any(axis=None):
        found["fleiss"] = compute_irrcac("fleiss")
    return {**found, "cohen": pairs}


if __name__ == "__main__":
    records = [record_coefficients(random.Random(seed)) for seed in range(TABLES)]
    print("[\n" + ",\n".join(json.dumps(each) for each in records) + "\n]")
