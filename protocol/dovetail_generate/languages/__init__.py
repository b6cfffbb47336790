"""One emitter per language.  Each module has ``emit(contract) -> {path below clients/: text}``.

An emitter writes what its language's own formatter would leave unchanged.
"""
