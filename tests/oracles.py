"""Functions of independent packages, imported at the first call because scipy and nltk take two
seconds to import.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any


def oracle(module: str, name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return attrgetter(name)(import_module(module))(*arguments, **options)

    return call


AnnotationTask = oracle("nltk.metrics.agreement", "AnnotationTask")
binary_distance = oracle("nltk.metrics.distance", "binary_distance")
nltk_masi_distance = oracle("nltk.metrics.distance", "masi_distance")
find_root = oracle("scipy.optimize", "brentq")
betaln = oracle("scipy.special", "betaln")
beta = oracle("scipy.stats", "beta")
betabinom_pmf = oracle("scipy.stats", "betabinom.pmf")
betabinom = oracle("scipy.stats", "betabinom")
binom_pmf = oracle("scipy.stats", "binom.pmf")
binom_tail = oracle("scipy.stats", "binom.sf")
binomtest = oracle("scipy.stats", "binomtest")
bootstrap = oracle("scipy.stats", "bootstrap")
kstest = oracle("scipy.stats", "kstest")
multinomial_pmf = oracle("scipy.stats", "multinomial.pmf")
normal_quantile = oracle("scipy.stats", "norm.ppf")
student_quantile = oracle("scipy.stats", "t.ppf")
mcnemars = oracle("statsmodels.stats.contingency_tables", "mcnemar")
aggregate_raters = oracle("statsmodels.stats.inter_rater", "aggregate_raters")
cohens_kappa = oracle("statsmodels.stats.inter_rater", "cohens_kappa")
fleiss_kappa = oracle("statsmodels.stats.inter_rater", "fleiss_kappa")
to_table = oracle("statsmodels.stats.inter_rater", "to_table")
multipletests = oracle("statsmodels.stats.multitest", "multipletests")
proportion_confint = oracle("statsmodels.stats.proportion", "proportion_confint")
