package dev.dovetail.examples;

import dev.dovetail.*;
import dev.dovetail.Message.*;
import java.util.List;

/** Measures the way of a turn and back: its only argument is the role, {@code agent} or {@code environment}. */
public final class Bench {
    private Bench() {}

    public static void main(String[] arguments) {
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "agent" -> Dovetail.main(AgentType.of("bench", () -> decision -> decision.legal()[0])
                    .described("Answers the first legal action.").playing(0));
            case "environment" -> Dovetail.main(
                    EnvironmentType.of("bench", Game.OPTIONS, Game::new).described("Two seats act in turns."));
            default -> {
                System.err.println("usage: Bench agent|environment");
                System.exit(2);
            }
        }
    }

    /** Two seats act in turns, without any effect. */
    static final class Game implements Environment {
        static final Options OPTIONS =
                new Options().integer("turns", 1000, 1, Integer.MAX_VALUE, "After how many turns it is over.");
        private static final Space ACTION = Space.Discrete.of(2);
        private static final Legal LEGAL = Legal.of(0, 1);

        private final long turns;
        private long turn;

        Game(Options.Values given) {
            turns = given.integer("turns");
        }

        @Override
        public Spec init() {
            return Spec.of()
                    .withSeats(2)
                    .withObservationSpaces(List.of(Space.Discrete.of(1)))
                    .withActionSpaces(List.of(ACTION))
                    .withMaxTurns(turns);
        }

        @Override
        public Turn start(long seed) {
            turn = 0;
            return next();
        }

        @Override
        public Turn step(JointAction actions) {
            long action = actions.sole((int) (turn & 1));
            if (action != 0 && action != 1) {
                throw new IllegalActionException((int) (turn & 1), "action " + action + " is none; legal are 0 and 1");
            }
            turn++;
            return next();
        }

        private Turn next() {
            if (turn < turns) {
                int seat = (int) (turn & 1);
                return TurnFactory.ask(seat, View.of(seat).withObservation(0L).withLegal(LEGAL));
            }
            return TurnFactory.end(
                    new double[] {0.5, 0.5}, View.of(0).withObservation(0L), View.of(1).withObservation(0L));
        }
    }
}
