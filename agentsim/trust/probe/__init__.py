"""Small experiments on a provider's cache, each of which measures one rule and compares it with the rule file.

They run against the emulated endpoint, which is started for them and whose clock costs no time, or against a real one.
"""
