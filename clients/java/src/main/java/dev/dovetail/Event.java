package dev.dovetail;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a broker tells an experiment or observer without being asked for it each time. */
public sealed interface Event {
    /** {@return the run that it is about} */
    long run();

    /** {@return the message as it came, fields of later versions included} */
    Map<String, Object> fields();

    /**
     * What one seat got out of an episode.
     *
     * @param agent the agent's type or name
     * @param instance the number of the agent instance
     * @param total undiscounted sum of rewards
     * @param decisions how many it answered
     * @param seconds thinking time
     * @param breaches answers too late or illegal that cost the run's price
     * @param ignored actions that were late, doubled or foreign
     */
    record SeatResult(
            String agent, long instance, double total, long decisions, double seconds, long breaches, long ignored) {
        static SeatResult read(Fields f) {
            return new SeatResult(
                    f.text("agent"),
                    f.integer("instance"),
                    f.number("total", 0),
                    f.integer("decisions", 0),
                    f.number("seconds", 0),
                    f.integer("breaches", 0),
                    f.integer("ignored", 0));
        }
    }

    /**
     * The result of one episode.
     *
     * @param run the run
     * @param index the number of the episode in its run
     * @param episode the broker's number of the episode
     * @param seed the environment's seed
     * @param reason why it ended
     * @param seats the account of each seat, in order
     * @param outcome a score per seat; null if nobody is scored
     * @param blame the seat at fault, or null
     * @param turns how many were answered
     * @param scored false if the episode was interrupted
     * @param again whether it is played again under the same index
     * @param message what went wrong, if something did
     * @param fields the message as it came
     */
    record Episode(
            long run,
            long index,
            long episode,
            long seed,
            String reason,
            List<SeatResult> seats,
            double[] outcome,
            Long blame,
            long turns,
            boolean scored,
            boolean again,
            String message,
            Map<String, Object> fields)
            implements Event {
        static Episode read(Fields f) {
            f.required("seats");
            return new Episode(
                    f.integer("run"),
                    f.integer("index"),
                    f.integer("episode"),
                    f.integer("seed"),
                    f.oneOf("reason", null, End.REASONS),
                    f.inners("seats", SeatResult::read),
                    f.numbersOrNil("outcome"),
                    f.integerOrNil("blame"),
                    f.integer("turns", 0),
                    f.bool("scored", true),
                    f.bool("again", false),
                    f.text("message", ""),
                    f.map());
        }
    }

    /**
     * How far a run is.
     *
     * @param run the run
     * @param finished episodes that are over and not to be played again
     * @param running episodes in progress
     * @param total episodes that the run asked for
     * @param fields the message as it came
     */
    record Progress(long run, long finished, long running, long total, Map<String, Object> fields)
            implements Event {
        static Progress read(Fields f) {
            return new Progress(
                    f.integer("run"), f.integer("finished"), f.integer("running"), f.integer("total"), f.map());
        }
    }

    /**
     * A run is over.
     *
     * @param run the run
     * @param finished episodes that are over
     * @param reason {@code finished}, {@code drained}, {@code cancelled} or {@code failed}
     * @param message one line for a person, if there is something to say
     * @param fields the message as it came
     */
    record Done(long run, long finished, String reason, String message, Map<String, Object> fields)
            implements Event {
        private static final Set<String> REASONS = Set.of("finished", "drained", "cancelled", "failed");

        static Done read(Fields f) {
            return new Done(
                    f.integer("run"),
                    f.integer("finished"),
                    f.oneOf("reason", "finished", REASONS),
                    f.text("message", ""),
                    f.map());
        }
    }

    /**
     * A turn as a watcher may see it.
     *
     * @param run the run
     * @param match the match
     * @param index the number of the episode in its run
     * @param episode the broker's number of the episode
     * @param turn its number
     * @param toAct seats that must act now
     * @param actions pairs of seat and action that led here
     * @param rewards per seat, of this transition
     * @param observations pairs of seat and observation, in games of perfect information
     * @param agents the agents' types or names by seat
     * @param terminated whether the rules ended the episode
     * @param truncated whether the environment cut it short
     * @param outcome at the end a score per seat; or null
     * @param reason why the episode is over; null while it goes on
     * @param text the position as all may see it; or null
     * @param fields the message as it came
     */
    record WatchedTurn(
            long run,
            long match,
            long index,
            long episode,
            long turn,
            List<Integer> toAct,
            List<?> actions,
            double[] rewards,
            List<?> observations,
            List<String> agents,
            boolean terminated,
            boolean truncated,
            double[] outcome,
            String reason,
            String text,
            Map<String, Object> fields)
            implements Event {
        static WatchedTurn read(Fields f) {
            String reason = f.any("reason") == null ? null : f.oneOf("reason", null, End.REASONS);
            return new WatchedTurn(
                    f.integer("run"),
                    f.integer("match"),
                    f.integer("index"),
                    f.integer("episode"),
                    f.integer("turn"),
                    f.smalls("to_act"),
                    pairs(f, "actions"),
                    f.numbers("rewards"),
                    pairs(f, "observations"),
                    f.texts("agents"),
                    f.bool("terminated", false),
                    f.bool("truncated", false),
                    f.numbersOrNil("outcome"),
                    reason,
                    f.textOrNil("text"),
                    f.map());
        }

        private static List<?> pairs(Fields f, String name) {
            List<?> found = f.list(name);
            for (Object each : found) {
                if (!(each instanceof List<?> pair) || pair.size() != 2 || !(pair.get(0) instanceof Long)) {
                    throw f.invalid(name, "an array of pairs of seat and value");
                }
            }
            return found;
        }
    }
}
