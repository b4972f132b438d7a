"""Rules about the tree itself."""
