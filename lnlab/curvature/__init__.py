"""Curvature of any module and loss: symmetric operators by their products, and their spectra by Lanczos.

Below are operators (``hessian``, ``ggn``, ``preconditioned``), above are algorithms (``lanczos``, ``quadrature``,
``spectrum``, ``estimates``) that see nothing of an operator but ``matvec``.
"""
