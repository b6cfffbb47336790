package dev.dovetail;

/**
 * A place in a match, as an agent is told of it.
 *
 * @param match the broker's number of the match
 * @param seat the seat's number, from 0
 * @param spec what the environment said of itself
 * @param lookahead whether the run allows to ask with {@link Lookahead}
 */
public record Seat(long match, int seat, Spec spec, boolean lookahead) {}
