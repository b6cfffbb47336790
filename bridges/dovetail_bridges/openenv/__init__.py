"""Dovetail's games as OpenEnv servers: clients and trainers that speak OpenEnv take seats in
them."""
