"""What a Python program needs to speak to a broker: the connection, the session, serving, plug-ins."""
