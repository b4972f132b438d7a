"""threadkeep as its users meet it: installed, started, talked to."""
