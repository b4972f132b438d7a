"""The tests of threadkeep, from pure rules to real servers."""
