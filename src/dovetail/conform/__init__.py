"""The conformance kit: plays the broker to a program and holds its answers against SPEC.md."""
