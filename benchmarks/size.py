"""Statements in lnlab/, by package: how much there is to read. Docstrings and comments are not counted."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "lnlab"


def statements(source: str) -> int:
    """The statements of a module, docstrings left out."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    texts = [n for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    return len(nodes) - len(texts)


def main() -> None:
    """Print the sum and the packages, the largest first."""
    sizes: Counter[str] = Counter()
    all_nodes = 0
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        below = path.relative_to(PACKAGE).parts
        sizes[below[0] if len(below) > 1 else "(top level)"] += statements(source)
        all_nodes += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))
    print(f"{sum(sizes.values()):,} statements in lnlab/, {all_nodes:,} with docstrings")
    for name, size in sizes.most_common():
        print(f"{size:>7,}  {name}")


if __name__ == "__main__":
    main()
