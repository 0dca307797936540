"""Numbers as a reader says them: durations, quantities with a metric prefix, counted nouns."""


def format_duration(seconds: float) -> str:
    """``seconds`` as a reader would say it: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def format_quantity(number: float, unit: str) -> str:
    """``number`` with a metric prefix: 3.42 GFLOP, 1.20 M parameters."""
    for size, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g} {prefix}{unit}"
    return f"{number:.3g} {unit}".rstrip()


def format_count(number: int, one: str) -> str:
    """``1 run``, ``12,000 runs``."""
    return f"{number:,} {one if number == 1 else one + 's'}"
