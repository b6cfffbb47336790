"""Gymnasium: our games as its environments (``outgoing``), its environments as ours (``incoming``).

``import dovetail.gymnasium`` registers the games with Gymnasium.
"""
