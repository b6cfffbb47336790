package dev.dovetail;

import dev.dovetail.Message.AgentStep;
import dev.dovetail.Message.End;
import dev.dovetail.Message.Mode;
import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
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

    public double[] play(Agent first, Agent second, long seed, Mode mode) {
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
        for (long number = 0; turn.toAct().length > 0; number++) {
            View view = turn.seats().get(0);
            int seat = view.seat();
            Object rows = afterstates ? environment.afterstates(seat) : null;
            AgentStep step = AgentStep.of(episode, seat, number)
                    .withObservation(view.observation())
                    .withLegal(view.legal())
                    .withAfterstates(rows);
            Object action = agents[seat].step(new Decision(seats[seat], mode, 0, randoms[seat], step));
            turn = environment.step(JointAction.of(seat, action));
        }
        for (View view : turn.seats()) {
            int seat = view.seat();
            agents[seat].end(End.of(episode, seat)
                    .withReward(view.reward())
                    .withObservation(view.observation())
                    .withOutcome(turn.outcome())
                    .withMode(mode));
        }
        return turn.outcome();
    }
}
