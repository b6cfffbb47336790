package dev.dovetail;

import dev.dovetail.Message.Thoughts;
import java.util.Map;

/**
 * An action with the agent's thoughts. An agent may return it instead of the action.
 *
 * @param action the action, or {@link Resign}
 * @param thoughts what watchers are shown of what the agent thinks, or null; sent only if the decision has
 *     {@link Decision#think}
 * @param measures what the agent measured since its last answer, such as a loss; their means are in the result of the
 *     episode
 */
public record Considered(Object action, Thoughts thoughts, Map<String, Double> measures) {
    /**
     * An action with thoughts alone.
     *
     * @param action the action, or {@link Resign}
     * @param thoughts what watchers are shown of what the agent thinks, or null
     */
    public Considered(Object action, Thoughts thoughts) {
        this(action, thoughts, Map.of());
    }
}
