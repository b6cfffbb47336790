package dev.dovetail;

import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import java.util.List;

/** Makes the turns that environments answer with. */
public final class TurnFactory {
    private TurnFactory() {}

    /**
     * Asks one seat to act.
     *
     * @param seat the seat
     * @param views of this seat, and of any other that earned a reward
     * @return the turn
     */
    public static Turn ask(int seat, View... views) {
        return ask(new int[] {seat}, List.of(views));
    }

    /**
     * Asks several seats to act at once.
     *
     * @param seats the seats
     * @param views of these seats, and of any other that earned a reward
     * @return the turn
     */
    public static Turn ask(int[] seats, List<View> views) {
        return Turn.of().withToAct(seats).withSeats(views);
    }

    /**
     * Ends the episode by the rules.
     *
     * @param outcome a score per seat: 1 won, 0 lost, shared when drawn; null if the game has no score
     * @param views of every seat
     * @return the turn
     */
    public static Turn end(double[] outcome, View... views) {
        return Turn.of().withSeats(List.of(views)).withTerminated(true).withOutcome(outcome);
    }

    /**
     * Cuts the episode short, by a limit outside the rules.
     *
     * @param views of every seat
     * @return the turn
     */
    public static Turn truncate(View... views) {
        return Turn.of().withSeats(List.of(views)).withTruncated(true);
    }
}
