"""What a Python program needs to connect to a broker: the connection, the session, serving, plug-ins."""
