"""PettingZoo: our games as its environments (``outgoing``), its environments as ours (``incoming``).

``import dovetail.pettingzoo`` registers the games with PettingZoo.
"""
