"""The page: watch, play and replay any game in a browser.

``app`` serves it, ``hub`` is the peer of the broker behind it, ``chairs`` holds the seats of
people, ``positions`` turns scenes into what the browser draws.  The page knows no game.
"""
