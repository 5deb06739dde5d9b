"""Benchmarks: our commands beside other programs', on the same files, in the same run. Never run by pytest."""
