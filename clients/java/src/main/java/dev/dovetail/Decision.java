package dev.dovetail;

import java.util.random.RandomGenerator;

/**
 * What one seat must decide in one turn.
 *
 * @param seat who must act, and in which match
 * @param episode the broker's number of the episode
 * @param turn the number of this decision point within the episode, from 0
 * @param observation what the seat sees, as it is decoded: Long, Double, String, List, Map, Tensor …
 * @param legal action numbers in rising order; null if every action of the space is legal
 * @param reward the sum of what the seat earned since its last decision
 * @param learn false in evaluate mode, in which an agent must not change
 * @param seed of this seat in this episode
 * @param random made from {@code seed}, the same through the episode: with it the same seeds replay the same
 * @param afterstates one row per legal action, if wanted
 * @param text the position for a person to read, if wanted
 * @param scene the position to be drawn, if wanted
 * @param clock what the seat may use; null if no clock runs
 */
public record Decision(
        Seat seat,
        long episode,
        long turn,
        Object observation,
        long[] legal,
        double reward,
        boolean learn,
        long seed,
        RandomGenerator random,
        Object afterstates,
        String text,
        Object scene,
        Clock clock) {
    /**
     * Draws an action that is legal.
     *
     * @return an action number, or a value of the action space if every one is legal
     * @throws DovetailException if nothing says what is legal
     */
    public Object sample() {
        if (legal != null) {
            return legal[random.nextInt(legal.length)];
        }
        Space space = seat.spec().actionSpace(seat.seat());
        if (space == null) {
            throw new DovetailException("neither legal actions nor an action space were sent");
        }
        return space.sample(random);
    }
}
