"""The subcommands, one file each. A file is imported only when its command runs or is asked for help.

Each module holds ``command``, a :class:`click.Command`. At module level it imports nothing but click and what is as
light: readers, verdicts and reports are imported inside the function that needs them.
"""
