"""Thousands of logs on many machines: cut into shards, judged and simulated there, kept as Parquet."""
