package dev.dovetail;

import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;

/**
 * The rules of a game, made for one match. They know nothing of agents, sockets or brokers. All calls come from one
 * thread.
 *
 * <p>Tensors that were handed out must not be changed afterwards.
 */
public interface Environment {
    /**
     * Returns the spec of the game; called once, before any episode.
     *
     * @return the spec
     * @throws DovetailException if the configuration is invalid; the text names the option
     */
    Spec init();

    /**
     * Begins an episode, dropping one in progress.
     *
     * @param seed the seed of all chance in this episode
     * @return turn 0
     */
    Turn start(long seed);

    /**
     * Applies the actions of all seats that had to act. It is called once for each turn, even after a broken
     * connection.
     *
     * @param actions by seat
     * @return the turn that follows
     * @throws IllegalActionException if the rules refuse one; the episode is as before
     */
    Turn step(JointAction actions);

    /**
     * Returns a seat's observation after each of its legal actions.
     *
     * @param seat the seat, which must act
     * @return an array with one row per legal action, in their order
     */
    default Object afterstates(int seat) {
        return null;
    }

    /**
     * Returns the position as text.
     *
     * @param seat the viewing seat; null for the public position
     * @return the text
     */
    default String text(Integer seat) {
        return "";
    }

    /**
     * Returns the position as a scene to draw.
     *
     * @param seat the viewing seat; null for the public position
     * @return the scene; null if there is none
     */
    default Scene scene(Integer seat) {
        return null;
    }

    /**
     * Makes a copy of the episode as a seat knows it, which can be played without changing the episode. The same seed
     * makes equal copies.
     *
     * @param seat the seat that asks
     * @param seed the seed of hidden information and future chance
     * @return the copy
     * @throws DovetailException if this environment cannot do that
     */
    default Environment fork(int seat, long seed) {
        throw new DovetailException("this environment cannot look ahead");
    }

    /**
     * Answers a message of the experiment.
     *
     * @param body any value that both sides understand
     * @return the answer
     */
    default Object message(Object body) {
        return null;
    }

    /** Frees resources; the last call. */
    default void cleanup() {}
}
