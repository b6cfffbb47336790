"""Python programs at a broker: connections, sessions, hosts, base classes, plug-ins."""
