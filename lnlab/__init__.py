"""lnlab: one YAML file asks one question of Transformer training; the lab answers it with numbers and verdicts.

Text -> spec -> plan -> live model -> rows -> Parquet -> frames -> verdicts -> pages; never back.

The ground (``errors registry keys randomness tables``) carries the front end (``spec``, ``compile``), the torch wing
(``corpora nn optim tasks probes interventions execute``), the store, and the frame wing (``analyse claims report``);
``cli`` is the front door.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lnlab.store.read import results as results


def __getattr__(name: str) -> object:
    """``lnlab.results`` reads the joined frames of an experiment; loaded when first asked."""
    if name == "results":
        from lnlab.store.read import results

        return results
    raise AttributeError(f"module 'lnlab' has no attribute '{name}'")
