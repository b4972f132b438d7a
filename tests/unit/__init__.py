"""Pure rules, driven by hand."""
