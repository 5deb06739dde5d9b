"""Reports for programs: JSON, CSV, and the trace events of Perfetto."""
