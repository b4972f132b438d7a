"""What goes on beside requests: claiming runs, keeping leases."""
