"""What a server does beside answering: claims runs, keeps leases, frees what the dead held."""
