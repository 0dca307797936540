"""Curvature of any module and loss: symmetric operators by their products, and their spectra by Lanczos.

``hessian``, ``ggn`` and ``preconditioned`` build operators. The algorithms (``lanczos``, ``quadrature``, ``spectrum``,
``estimates``) use only the ``matvec`` of an operator.
"""
