"""The rules, a file for each thing that they look at. To import this package registers all of them."""

from lnlab.referee.rules import answers, controls, effects, pages, training, tuning

__all__ = ["answers", "controls", "effects", "pages", "training", "tuning"]
