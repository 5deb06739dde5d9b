"""The ground floor: sessions of requests of blocks, prompts that share their prefixes, usage, money, times, verdicts.

Nothing below it: these modules import one another and the standard library.
"""
