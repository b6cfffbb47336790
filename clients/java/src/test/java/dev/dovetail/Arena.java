package dev.dovetail;

import java.util.SplittableRandom;
import java.util.random.RandomGenerator;

/** Plays two agents against each other in one program, with the seeds that a broker would give. */
public final class Arena {
    private final Environment environment;
    private final Spec spec;
    private final boolean afterstates;
    private long episodes;

    public Arena(Environment environment, boolean afterstates) {
        this.environment = environment;
        this.afterstates = afterstates;
        spec = environment.init();
    }

    public double[] play(Agent first, Agent second, long seed, boolean learn) {
        Agent[] agents = {first, second};
        long episode = ++episodes;
        RandomGenerator[] randoms = new RandomGenerator[2];
        Seat[] seats = new Seat[2];
        for (int seat = 0; seat < 2; seat++) {
            randoms[seat] = new SplittableRandom(Seeds.derive(seed, "seat", seat));
            seats[seat] = new Seat(1, seat, spec, false);
            agents[seat].init(seats[seat]);
        }
        Turn turn = environment.start(seed);
        for (long number = 0; !turn.isOver(); number++) {
            View view = turn.seats().get(0);
            int seat = view.seat();
            Object rows = afterstates ? environment.afterstates(seat) : null;
            Object action = agents[seat].step(new Decision(seats[seat], episode, number, view.observation(),
                    (long[]) view.legal(), 0, learn, 0, randoms[seat], rows, null, null, null));
            turn = environment.step(Actions.of(seat, action));
        }
        for (View view : turn.seats()) {
            int seat = view.seat();
            agents[seat].end(new End(seats[seat], episode, view.reward(), view.observation(), turn.outcome(),
                    "terminated", null, view.reward(), 0, learn, null, null));
        }
        return turn.outcome();
    }
}
