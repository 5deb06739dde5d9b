"""The lab: experiments on K/V caches that anybody can run again, each beside the figure that was published for it.

``engine.lab.registry`` names the experiments; each is a module of this package with an ``EXPERIMENT``. Results are
values (:mod:`engine.lab.experiment`); nothing here prints.
"""
