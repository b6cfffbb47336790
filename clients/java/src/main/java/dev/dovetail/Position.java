package dev.dovetail;

import java.util.List;

/**
 * What a line of actions leads to.
 *
 * @param toAct seats that would have to act; empty if the episode would be over
 * @param seats what the last action would mean to each seat
 * @param rewards per seat, of the whole line
 * @param terminated whether the rules would have ended the episode
 * @param truncated whether the environment would have cut it short
 * @param outcome at the end a score per seat; or null
 * @param applied how many actions of the line were applied
 * @param error why the next one was not; empty if all were
 */
public record Position(
        int[] toAct,
        List<View> seats,
        double[] rewards,
        boolean terminated,
        boolean truncated,
        double[] outcome,
        long applied,
        String error) {
    static Position read(Object value) {
        Fields f = Fields.of(value, "position");
        return new Position(
                f.smalls("to_act").stream().mapToInt(each -> each).toArray(),
                f.inners("seats", View::read),
                f.numbers("rewards"),
                f.bool("terminated", false),
                f.bool("truncated", false),
                f.numbersOrNil("outcome"),
                f.integer("applied", 0),
                f.text("error", ""));
    }

    void write(Encoder out) {
        out.map(8).field("to_act", toAct).key("seats").array(seats.size());
        for (View each : seats) {
            each.write(out);
        }
        out.field("rewards", rewards)
                .field("terminated", terminated)
                .field("truncated", truncated)
                .field("outcome", outcome)
                .field("applied", applied)
                .field("error", error);
    }
}
