package dev.dovetail;

import java.util.Arrays;

/** The actions of all seats that had to act in a turn, in the order of {@code to_act}. */
public final class Actions {
    private final int[] seats;
    private final Object[] actions;

    Actions(int[] seats, Object[] actions) {
        this.seats = seats;
        this.actions = actions;
    }

    /**
     * Makes the actions of one seat.
     *
     * @param seat the seat
     * @param action its action
     * @return the actions
     */
    public static Actions of(int seat, Object action) {
        return new Actions(new int[] {seat}, new Object[] {action});
    }

    /** {@return how many seats acted} */
    public int size() {
        return seats.length;
    }

    /**
     * Returns a seat that acted.
     *
     * @param index its place in the order
     * @return the seat
     */
    public int seat(int index) {
        return seats[index];
    }

    /**
     * Returns an action.
     *
     * @param index its place in the order
     * @return the action
     */
    public Object action(int index) {
        return actions[index];
    }

    /**
     * Returns the action of the one seat that must act, as an integer.
     *
     * @param seat who must act
     * @return the action number
     * @throws IllegalActionException if others act too or instead, or it is no integer
     */
    public long sole(int seat) {
        if (seats.length != 1 || seats[0] != seat) {
            throw new IllegalActionException(
                    seat, "seat " + seat + " is to act, and only it; got actions of " + Arrays.toString(seats));
        }
        if (actions[0] instanceof Long number) {
            return number;
        }
        throw new IllegalActionException(seat, "an action must be an integer, not " + actions[0]);
    }
}
