package dev.dovetail;

import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import java.util.List;

/** Seats take one or two of a heap in turn; who takes the last wins. */
final class Nim implements Environment {
    static final Options OPTIONS = new Options().integer("heap", 5, 1, 100, "How many there are.");

    private final long heap;
    private long left;
    private int mover;
    int steps;

    Nim(Options.Values given) {
        this(given.integer("heap"));
    }

    private Nim(long heap) {
        this.heap = heap;
    }

    static EnvironmentType type() {
        return EnvironmentType.of("nim", OPTIONS, Nim::new);
    }

    @Override
    public Spec init() {
        return Spec.of()
                .withSeats(2)
                .withObservationSpaces(List.of(Space.Discrete.of(heap + 1)))
                .withActionSpaces(List.of(Space.Discrete.of(2).withStart(1)))
                .withRewardRange(-1, 1)
                .withMaxTurns(heap);
    }

    @Override
    public Turn start(long seed) {
        left = heap;
        mover = 0;
        return turn();
    }

    @Override
    public Turn step(JointAction actions) {
        steps++;
        long taken = actions.sole(mover);
        if (taken < 1 || taken > Math.min(2, left)) {
            throw new IllegalActionException(mover, taken + " cannot be taken");
        }
        left -= taken;
        mover = 1 - mover;
        return turn();
    }

    private Turn turn() {
        if (left > 0) {
            Legal legal = left > 1 ? Legal.of(1, 2) : Legal.of(1);
            return TurnFactory.ask(mover, View.of(mover).withObservation(left).withLegal(legal));
        }
        int winner = 1 - mover;
        return TurnFactory.end(
                new double[] {1 - winner, winner},
                View.of(0).withObservation(0L).withReward(winner == 0 ? 1 : -1),
                View.of(1).withObservation(0L).withReward(winner == 1 ? 1 : -1));
    }

    @Override
    public String text(Integer seat) {
        return left + " left";
    }

    @Override
    public Environment fork(int seat, long seed) {
        Nim copy = new Nim(heap);
        copy.left = left;
        copy.mover = mover;
        return copy;
    }

    @Override
    public Object message(Object body) {
        return steps;
    }
}
