"""From stored rows to numbers with intervals: selections, series, derived quantities, profiles. Frames all the way."""
