"""Who calls, what a deployment's own rules say of it, and what that lets the caller see."""
