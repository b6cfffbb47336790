"""The page: watch, play and replay any game in a browser.

``app`` serves it, ``hub`` is its peer at the broker, ``chairs`` holds people's seats, and
``positions`` prepares scenes for the browser.  The page knows no game.
"""
