package dev.dovetail;

import dev.dovetail.Message.Spec;
import java.util.List;

/**
 * A place in a match.
 *
 * @param match the broker's number of the match
 * @param seat the seat's number, from 0
 * @param spec the environment's spec
 * @param lookahead whether the agent may answer with a {@link Lookahead}
 */
public record Seat(long match, int seat, Spec spec, boolean lookahead) {
    /** {@return this seat's observation space; null if the spec does not say} */
    public Space observationSpace() {
        return of(spec.observationSpaces());
    }

    /** {@return this seat's action space; null if the spec does not say} */
    public Space actionSpace() {
        return of(spec.actionSpaces());
    }

    /** One per seat, or one for all. */
    private Space of(List<Space> spaces) {
        if (spaces.size() == 1) {
            return spaces.get(0);
        }
        return seat < spaces.size() ? spaces.get(seat) : null;
    }
}
