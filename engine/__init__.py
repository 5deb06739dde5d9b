"""A small real inference engine, to be used as a cache backend: model, K/V pages, prefix cache and scheduler.

Real forward passes over real pages, so that a replayed session shows what a provider model can only predict. It imports
torch, which the ``engine`` extra installs; nothing outside this package and :mod:`agentsim.kernels` does.
"""
