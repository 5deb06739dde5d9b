"""Reports as web pages, Markdown with plots, and the charts in them."""
