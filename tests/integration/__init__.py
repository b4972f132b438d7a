"""Parts of threadkeep together, and beside real servers."""
