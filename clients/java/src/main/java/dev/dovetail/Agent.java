package dev.dovetail;

import dev.dovetail.Message.End;

/**
 * A player or learner. It knows nothing of games, sockets or brokers.
 *
 * <p>One instance may hold several seats at once, of one episode or of as many as its type's capacity says. All
 * calls come from one thread.
 */
@FunctionalInterface
public interface Agent {
    /**
     * Takes a seat of a match.
     *
     * @param seat which one
     * @throws DovetailException if this agent cannot play this game; the text says why, in one line
     */
    default void init(Seat seat) {}

    /**
     * Answers the first decision of an episode.
     *
     * @param decision the decision
     * @return an action, {@link Resign}, either with the agent's thoughts ({@link Considered}), or a
     *     {@link Lookahead}
     */
    default Object start(Decision decision) {
        return step(decision);
    }

    /**
     * Answers a decision. It is called once for each, even after a broken connection.
     *
     * @param decision the decision
     * @return an action, {@link Resign}, either with the agent's thoughts ({@link Considered}), or a
     *     {@link Lookahead}
     */
    Object step(Decision decision);

    /**
     * Handles the end of an episode. A seat that never had to decide gets one, too.
     *
     * @param end how it ended
     */
    default void end(End end) {}

    /**
     * Answers a message of the experiment.
     *
     * @param body any value that both sides understand
     * @return the answer
     */
    default Object message(Object body) {
        return null;
    }

    /** {@return the complete state, from which {@link #load} continues exactly} */
    default byte[] save() {
        return new byte[0];
    }

    /**
     * Continues from the state that {@link #save} returned.
     *
     * @param state the bytes
     * @throws DovetailException if they are not a state of this agent
     */
    default void load(byte[] state) {}

    /** Frees resources; the last call. */
    default void cleanup() {}
}
