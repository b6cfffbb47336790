package dev.dovetail;

import dev.dovetail.Message.AgentStep;
import dev.dovetail.Message.Clock;
import dev.dovetail.Message.Mode;
import java.util.random.RandomGenerator;

/**
 * A decision that one seat owes in one turn.
 *
 * @param seat the seat that must act, and its match
 * @param mode in {@code EVALUATE} an agent must not change
 * @param seed of this seat in this episode
 * @param random made from {@code seed}, the same through the episode; an agent that draws from it alone can be replayed
 * @param message what the broker sent; a first decision has the fields of a later one
 */
public record Decision(Seat seat, Mode mode, long seed, RandomGenerator random, AgentStep message) {
    /** {@return the broker's number of the episode} */
    public long episode() {
        return message.episode();
    }

    /** {@return the number of this decision point within the episode, from 0} */
    public long turn() {
        return message.turn();
    }

    /** {@return the sum of the seat's rewards since its last decision} */
    public double reward() {
        return message.reward();
    }

    /** {@return the seat's observation, decoded: Long, Double, String, List, Map, Tensor …} */
    public Object observation() {
        return message.observation();
    }

    /** {@return action numbers in rising order; null if every action of the space is legal} */
    public long[] legal() {
        return message.legal() == null ? null : message.legal().actions();
    }

    /** {@return one row per legal action, if wanted} */
    public Object afterstates() {
        return message.afterstates();
    }

    /** {@return the position as text, if wanted} */
    public String text() {
        return message.text();
    }

    /** {@return the position as a scene to draw, if wanted} */
    public Object scene() {
        return message.scene();
    }

    /** {@return the time that the seat has left; null if no clock runs} */
    public Clock clock() {
        return message.clock();
    }

    /** {@return whether a watcher may see {@link Considered#thoughts}; it must not change the action} */
    public boolean think() {
        return message.think();
    }

    /**
     * Draws a legal action.
     *
     * @return an action number, or a value of the action space if every action of it is legal
     * @throws DovetailException if neither legal actions nor an action space were sent
     */
    public Object sample() {
        long[] legal = legal();
        if (legal != null) {
            return legal[random.nextInt(legal.length)];
        }
        if (seat.actionSpace() == null) {
            throw new DovetailException("neither legal actions nor an action space were sent");
        }
        return Spaces.sample(seat.actionSpace(), random);
    }
}
