package dev.dovetail;

import java.util.List;

/**
 * A transition: who must act now and what each seat learns. Its number is the host's affair.
 *
 * @param toAct seats that must act; empty if and only if the episode is over
 * @param seats views of the seats to act and of any that earned a reward; at the end of every seat
 * @param terminated whether the rules ended the episode
 * @param truncated whether it was cut short by a limit that is no part of the rules
 * @param outcome at the end a score per seat, 1 won, 0 lost, shared when drawn; or null
 * @param info whatever may help a person; or null
 */
public record Turn(
        int[] toAct, List<View> seats, boolean terminated, boolean truncated, double[] outcome, Object info) {
    /**
     * The episode goes on, and one seat must act.
     *
     * @param seat who
     * @param views of the seats
     * @return the turn
     */
    public static Turn of(int seat, View... views) {
        return new Turn(new int[] {seat}, List.of(views), false, false, null, null);
    }

    /**
     * The episode goes on, and several seats must act at once.
     *
     * @param seats who
     * @param views of the seats
     * @return the turn
     */
    public static Turn of(int[] seats, List<View> views) {
        return new Turn(seats, views, false, false, null, null);
    }

    /**
     * The rules ended the episode.
     *
     * @param outcome a score per seat; null if nobody is scored
     * @param views of every seat
     * @return the turn
     */
    public static Turn over(double[] outcome, View... views) {
        return new Turn(new int[0], List.of(views), true, false, outcome, null);
    }

    /**
     * The episode is cut short by a limit that is no part of the rules.
     *
     * @param views of every seat
     * @return the turn
     */
    public static Turn cutShort(View... views) {
        return new Turn(new int[0], List.of(views), false, true, null, null);
    }

    /** {@return whether nobody has to act any more} */
    public boolean isOver() {
        return terminated || truncated;
    }
}
