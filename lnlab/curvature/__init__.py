"""Curvature of any module and loss: symmetric operators seen by their products, and what Lanczos finds of them.

Below are operators (``hessian``, ``ggn``, ``preconditioned``), above are algorithms (``lanczos``, ``quadrature``,
``spectrum``, ``estimates``) that see nothing of an operator but ``matvec``.
"""
