"""The conformance kit: plays the broker to a program and checks its answers against SPEC.md."""
