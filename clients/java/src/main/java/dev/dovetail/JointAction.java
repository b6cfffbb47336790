package dev.dovetail;

import java.util.List;

/**
 * The actions of all seats that had to act in a turn.
 *
 * @param all one for each seat, in the order of {@code to_act}
 */
public record JointAction(List<SeatValue> all) {
    /**
     * Makes the actions of one seat.
     *
     * @param seat the seat
     * @param action its action
     * @return the actions
     */
    public static JointAction of(int seat, Object action) {
        return new JointAction(List.of(new SeatValue(seat, action)));
    }

    /**
     * Returns the action of the one seat that must act, as an integer.
     *
     * @param seat the seat that must act
     * @return the action number
     * @throws IllegalActionException if others act too or instead, or it is not an integer
     */
    public long sole(int seat) {
        if (all.size() != 1 || all.get(0).seat() != seat) {
            throw new IllegalActionException(seat, "seat " + seat + " is to act, and only it; got actions of "
                    + all.stream().map(SeatValue::seat).toList());
        }
        if (all.get(0).value() instanceof Long number) {
            return number;
        }
        throw new IllegalActionException(seat, "an action must be an integer, not " + all.get(0).value());
    }
}
