package dev.dovetail;

import java.util.Set;

/**
 * The end of an episode for one seat; it comes exactly once, whatever happened.
 *
 * @param seat the seat, and its match
 * @param episode the broker's number of the episode
 * @param reward the sum of what the seat earned since its last decision
 * @param observation the last position as the seat sees it; null if there is none
 * @param outcome a score per seat, 1 won, 0 lost, shared when drawn; null if nobody is scored
 * @param reason why it is over, one of {@link #REASONS}
 * @param blame the seat at fault; null if none is
 * @param total the seat's return: all its rewards of the episode
 * @param decisions how many the seat had
 * @param learn false in evaluate mode
 * @param text the last position for a person to read, if wanted
 * @param scene the last position to be drawn, if wanted
 */
public record End(
        Seat seat,
        long episode,
        double reward,
        Object observation,
        double[] outcome,
        String reason,
        Integer blame,
        double total,
        long decisions,
        boolean learn,
        String text,
        Object scene) {
    /** Why an episode can be over. */
    public static final Set<String> REASONS = Set.of(
            "terminated",
            "truncated",
            "illegal-action",
            "timeout",
            "stalled",
            "disconnected",
            "crashed",
            "cancelled",
            "environment-failed");
}
