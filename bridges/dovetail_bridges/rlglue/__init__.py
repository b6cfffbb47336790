"""RL-Glue 3: its codecs' agents, environments and experiments join over the original TCP protocol.

``wire`` and ``taskspec`` are the protocol; ``glue`` is what the original core does between three
programs; ``port`` and ``peer`` are the sockets; ``agent``, ``environment`` and ``sides`` put native
programs into the other roles.
"""
