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
     * @param decision what is to be decided
     * @return an action, {@link Resign}, either with what the agent says of it ({@link Considered}), or a
     *     {@link Lookahead}
     */
    default Object start(Decision decision) {
        return step(decision);
    }

    /**
     * Answers a decision. It is called once for each, even after a broken connection.
     *
     * @param decision what is to be decided
     * @return an action, {@link Resign}, either with what the agent says of it ({@link Considered}), or a
     *     {@link Lookahead}
     */
    Object step(Decision decision);

    /**
     * Hears that an episode is over. A seat that never had to decide hears it too.
     *
     * @param end how it ended
     */
    default void end(End end) {}

    /**
     * Answers a message of the experiment.
     *
     * @param body whatever they have agreed on
     * @return the answer
     */
    default Object message(Object body) {
        return null;
    }

    /** {@return everything that {@link #load} needs to continue as if nothing had happened} */
    default byte[] save() {
        return new byte[0];
    }

    /**
     * Continues from what {@link #save} returned.
     *
     * @param state the bytes
     * @throws DovetailException if they are not of such an agent
     */
    default void load(byte[] state) {}

    /** Frees resources; nothing is called afterwards. */
    default void cleanup() {}
}
