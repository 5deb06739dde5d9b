"""Reports for CI systems and code hosts."""
