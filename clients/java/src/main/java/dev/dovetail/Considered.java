package dev.dovetail;

import dev.dovetail.Message.Thoughts;

/**
 * An action, with what watchers are shown of what the agent thinks. An agent may answer it in place of the action.
 *
 * @param action the action
 * @param thoughts sent only if the decision has {@link Decision#think}
 */
public record Considered(Object action, Thoughts thoughts) {}
