"""A local endpoint that answers as a provider would, with the provider's cache inside, and a recorder of real traffic.

Real harnesses run against it. Nothing outside this package imports its web framework, and nothing here prints.
"""
