package dev.dovetail;

import dev.dovetail.Message.Preview;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Plays lines of actions on forks of an episode, to look ahead. */
final class Lines {
    private final Environment root;
    private final int seat;
    private final long seed;
    private final Preview first;

    Lines(Environment root, int seat, long seed, Turn turn, int seats) {
        this.root = root;
        this.seat = seat;
        this.seed = seed;
        first = Preview.of().withToAct(turn.toAct()).withRewards(new double[seats]);
    }

    /** A line that continues the one before it is played from there, so depth-first order is cheap. */
    List<Preview> play(List<List<List<Object>>> lines) {
        Environment here = null;
        Preview position = first;
        List<List<Object>> done = new ArrayList<>();
        List<Preview> found = new ArrayList<>(lines.size());
        for (List<List<Object>> line : lines) {
            boolean continues = here != null
                    && position.error().isEmpty()
                    && line.size() >= done.size()
                    && line.subList(0, done.size()).equals(done);
            if (!continues) {
                here = root.fork(seat, seed);
                position = first;
                done.clear();
            }
            for (List<Object> actions : line.subList(done.size(), line.size())) {
                position = after(here, position, actions);
                if (!position.error().isEmpty()) {
                    break;
                }
                done.add(actions);
            }
            found.add(position);
        }
        return found;
    }

    private static Preview after(Environment environment, Preview before, List<Object> actions) {
        int[] toAct = before.toAct();
        if (toAct.length == 0) {
            return before.withError("the episode would be over");
        }
        if (actions.size() != toAct.length) {
            return before.withError(actions.size() + " actions for the seats " + Arrays.toString(toAct));
        }
        List<SeatValue> all = new ArrayList<>();
        for (Object each : actions) {
            all.add(new SeatValue(toAct[all.size()], each));
        }
        Turn turn;
        try {
            turn = environment.step(new JointAction(all));
        } catch (IllegalActionException refused) {
            return before.withError(refused.getMessage());
        }
        double[] rewards = before.rewards().clone();
        for (View view : turn.seats()) {
            rewards[view.seat()] += view.reward();
        }
        return Preview.of()
                .withToAct(turn.toAct())
                .withSeats(turn.seats())
                .withRewards(rewards)
                .withTerminated(turn.terminated())
                .withTruncated(turn.truncated())
                .withOutcome(turn.outcome())
                .withApplied(before.applied() + 1);
    }
}
