"""The contract: messages, codec, spaces and the state machines that both ends need."""
