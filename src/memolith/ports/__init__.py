"""What the engine needs of the outside, as protocols whose docstrings are the contract."""
