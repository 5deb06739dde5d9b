"""Readers: one per log format, each turning files into :class:`agentsim.core.session.Session`; and small sample traces.

A reader streams its input, never trusts it, and accounts for every row: used, duplicate, not billable, or skipped with
a reason. Formats are detected from content (:mod:`agentsim.traces.format_registry`).
"""
