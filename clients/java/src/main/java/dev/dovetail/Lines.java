package dev.dovetail;

import java.util.Arrays;
import java.util.List;

/** What would follow from lines of actions, played on forks of an episode. */
final class Lines {
    private final Environment root;
    private final int seat;
    private final long seed;
    private final Position first;

    Lines(Environment root, int seat, long seed, Turn turn, int seats) {
        this.root = root;
        this.seat = seat;
        this.seed = seed;
        this.first = new Position(turn.toAct(), List.of(), new double[seats], false, false, null, 0, "");
    }

    /** A line that goes on from the one before it is played from there, so depth-first order is cheap. */
    List<Position> play(List<List<List<Object>>> lines) {
        Environment here = null;
        Position position = first;
        List<List<Object>> done = new java.util.ArrayList<>();
        List<Position> found = new java.util.ArrayList<>(lines.size());
        for (List<List<Object>> line : lines) {
            boolean goesOn = here != null
                    && position.error().isEmpty()
                    && line.size() >= done.size()
                    && line.subList(0, done.size()).equals(done);
            if (!goesOn) {
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

    private static Position after(Environment environment, Position before, List<Object> actions) {
        int[] toAct = before.toAct();
        if (toAct.length == 0) {
            return failed(before, "the episode would be over");
        }
        if (actions.size() != toAct.length) {
            return failed(before, actions.size() + " actions for the seats " + Arrays.toString(toAct));
        }
        Turn turn;
        try {
            turn = environment.step(new Actions(toAct, actions.toArray()));
        } catch (IllegalActionException refused) {
            return failed(before, refused.getMessage());
        }
        double[] rewards = before.rewards().clone();
        for (View view : turn.seats()) {
            rewards[view.seat()] += view.reward();
        }
        return new Position(
                turn.toAct(),
                turn.seats(),
                rewards,
                turn.terminated(),
                turn.truncated(),
                turn.outcome(),
                before.applied() + 1,
                "");
    }

    private static Position failed(Position before, String why) {
        return new Position(before.toAct(), before.seats(), before.rewards(), before.terminated(),
                before.truncated(), before.outcome(), before.applied(), why);
    }
}
