"""Reports: figures that others worked out, written for people or for programs.

Nothing here computes a verdict or a price. Everything that reaches a terminal goes through
:mod:`agentsim.report.paper`, which makes outside text safe (:mod:`agentsim.report.clean`).
"""
