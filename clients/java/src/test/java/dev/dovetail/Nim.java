package dev.dovetail;

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
        return Spec.of(2, new Space.Discrete(heap + 1), new Space.Discrete(2, 1)).withRewards(-1, 1).withMaxTurns(heap);
    }

    @Override
    public Turn start(long seed) {
        left = heap;
        mover = 0;
        return turn();
    }

    @Override
    public Turn step(Actions actions) {
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
            return Turn.of(mover, new View(mover, left, left > 1 ? new long[] {1, 2} : new long[] {1}, 0));
        }
        int winner = 1 - mover;
        return Turn.over(
                new double[] {1 - winner, winner},
                new View(0, 0L, null, winner == 0 ? 1 : -1),
                new View(1, 0L, null, winner == 1 ? 1 : -1));
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
