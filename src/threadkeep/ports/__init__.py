"""The seams: what a backend must provide, and nothing about how."""
