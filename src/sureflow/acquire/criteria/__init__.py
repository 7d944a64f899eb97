"""What makes a run worth computing: one file a criterion. One of your own is a class and `@CRITERIA.add`."""

from sureflow.acquire.criteria.criterion import CRITERIA, Criterion, Gains, Task
from sureflow.acquire.criteria.integrated_bar import IntegratedBar
from sureflow.acquire.criteria.integrated_variance import IntegratedVariance
from sureflow.acquire.criteria.largest_bar import LargestBar
from sureflow.acquire.criteria.loo_distance import LooDistance
from sureflow.acquire.criteria.loo_simplex import LooSimplex
from sureflow.acquire.criteria.space_filling import SpaceFilling

__all__ = [
    "CRITERIA",
    "Criterion",
    "Gains",
    "IntegratedBar",
    "IntegratedVariance",
    "LargestBar",
    "LooDistance",
    "LooSimplex",
    "SpaceFilling",
    "Task",
]
