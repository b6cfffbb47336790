"""RL-Glue 3: its codecs' agents, environments and experiments join over the original TCP protocol.

``wire`` and ``taskspec`` are the protocol; ``core`` is what the original core does between three
programs; ``listener`` and ``peer`` are the sockets; ``agent``, ``environment`` and ``adapters`` put
native programs into the other roles.
"""
