"""Triton kernels for the hot operations of :mod:`engine`, each beside the plain PyTorch reference that defines it."""
