"""The meaning of each word of the contract's enumerations, for the tables and the clients."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "Role": {
        "": "The role of a peer.",
        "environment": "Knows the rules of games.",
        "agent": "Makes decisions: a player, often a learner.",
        "experiment": "Asks for runs and receives their results.",
        "observer": "Only watches.",
    },
    "Mode": {
        "": "The permission of an agent to change during an episode.",
        "learn": "The agent may learn.",
        "evaluate": "The agent must not change.",
    },
    "Want": {
        "": "An addition to a seat's decisions, on request.",
        "afterstates": "One row per legal action: what the seat would observe after it.",
        "text": "The position for a person to read.",
        "scene": "The position to be drawn.",
    },
    "Breach": {
        "": "The cost of a late or illegal answer.",
        "forfeit": "The seat loses the episode.",
        "random": "The broker plays a random legal action for the seat.",
        "truncate": "The episode is truncated.",
    },
    "Crash": {
        "": "The cost of an agent's failure at a decision.",
        "interrupt": "The episode is not scored, and may be played again.",
        "forfeit": "The seat loses the episode.",
        "truncate": "The episode is truncated.",
    },
    "AgentLost": {
        "": "The consequence if an agent's program does not come back.",
        "fail": "The run fails; its episodes in progress are not scored.",
        "forfeit": "The run fails; the agent's seat loses the episodes in progress.",
        "truncate": "The run fails; the episodes in progress are truncated.",
        "wait": "The run waits until another program makes the agent again.",
        "substitute": "Another agent plays in its place until another program makes it again.",
    },
    "Reason": {
        "": "The reason of an episode's end.",
        "terminated": "The rules ended it, or a seat resigned.",
        "truncated": "A limit outside the rules cut it short.",
        "illegal-action": "A seat's action was not legal.",
        "timeout": "A seat used up its clock.",
        "stalled": "A seat without a clock did not answer in time.",
        "disconnected": "An agent's program went away.",
        "crashed": "An agent failed at a decision.",
        "cancelled": "The run was cancelled, or its experiment or the broker left.",
        "environment-failed": "The environment failed, left, or broke the contract.",
    },
    "DoneReason": {
        "": "The reason of a run's end.",
        "finished": "All episodes were played.",
        "drained": "The run was asked to start no more episodes.",
        "cancelled": "The run was ended at once.",
        "failed": "The run could not continue.",
    },
    "Code": {
        "": "The code of an `error`.",
        "malformed": "The frame is not one well-formed MessagePack value.",
        "limit": "The frame, or what it asks for, is too large; or the peer asks for too much.",
        "unknown-type": "The frame names no message of this direction.",
        "invalid": "A field is missing, has the wrong type, or is out of range.",
        "hello-first": "The connection has no session.",
        "version": "The protocol version is not the broker's.",
        "access": "The access token is missing or wrong, the key may not do that, or the thing "
        "named belongs to another.",
        "name-taken": "Another peer uses this name.",
        "wrong-state": "The message does not fit the state of what it is about.",
        "unknown": "The message names something that does not exist.",
        "illegal": "The seat may not take this action.",
        "unavailable": "The program that was asked cannot do this, or is gone.",
        "seats": "The run names more or fewer agents than its environment has seats.",
        "lookahead": "The run does not allow the `lookahead` that the agent asks for or needs.",
        "timeout": "The request was not answered in time.",
        "cancelled": "The request was given up by its sender.",
        "crashed": "The program that was asked failed.",
        "journal": "The broker cannot write its journal.",
    },
}
"""By enumeration and word; "" is the summary."""
