package dev.dovetail.examples;

import dev.dovetail.*;
import dev.dovetail.Message.*;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The conformer of docs/reference/conformer.md: its only argument is the role. */
public final class Conformer {
    private Conformer() {}

    public static void main(String[] arguments) {
        switch (arguments.length == 1 ? arguments[0] : "") {
            // The kit reads what is printed, so nothing is said when the broker has welcomed it.
            case "agent" -> Dovetail.program(() -> Dovetail.serve(Broker.usual(),
                    AgentType.of("conformer", new Options().bool("refuse", false, "Whether to refuse every seat."),
                                    (parameters, seed) -> new Counter(parameters.bool("refuse")))
                            .described("Counts what it hears.")
                            .wanting(Want.AFTERSTATES, Want.TEXT, Want.SCENE)
                            .playing(0)));
            case "environment" -> Dovetail.program(() -> Dovetail.serve(Broker.usual(),
                    EnvironmentType.of("conformer", Game.OPTIONS, Game::new).described("Counts turns.")));
            case "experiment" -> Dovetail.program(Conformer::experiment);
            default -> {
                System.err.println("usage: Conformer agent|environment|experiment");
                System.exit(2);
            }
        }
    }

    /** Counts what it hears. */
    private static final class Counter implements Agent {
        private final boolean refuse;
        private long decisions;
        private long ends;
        private double reward;
        private Spec spec;
        private final Map<String, Object> last = new LinkedHashMap<>();

        Counter(boolean refuse) {
            this.refuse = refuse;
        }

        @Override
        public void init(Seat seat) {
            if (refuse) {
                throw new DovetailException("the conformer was asked to refuse");
            }
            spec = seat.spec();
        }

        @Override
        public Object step(Decision decision) {
            if ("crash".equals(decision.observation())) {
                throw new IllegalStateException("asked to crash");
            }
            if (decision.mode() == Mode.LEARN) {
                decisions++;
                reward += decision.reward();
            }
            Clock clock = decision.clock();
            Map<String, Object> times = new LinkedHashMap<>();
            if (clock != null) {
                times.put("decision", clock.decision());
                times.put("left", clock.left());
                times.put("last", clock.last());
            }
            last.put("clock", clock == null ? null : times);
            last.put("text", decision.text());
            last.put("mode", decision.mode());
            last.put("seed", decision.seed());
            last.put("afterstates", decision.afterstates());
            last.put("scene", decision.scene());
            if ("resign".equals(decision.observation())) {
                return new Considered(new Resign(), null, Map.of("regret", 0.5));
            }
            if (decision.legal() != null) {
                // Sent only if they are asked for.
                Thoughts thoughts = Thoughts.of()
                        .withValues(Arrays.stream(decision.legal()).asDoubleStream().toArray())
                        .withText("turn " + decision.turn());
                return new Considered(Arrays.stream(decision.legal()).max().getAsLong(), thoughts);
            }
            return decision.observation() instanceof Map<?, ?> map && map.get("look") != null
                    ? look(map.get("look")) : decision.observation();
        }

        @SuppressWarnings("unchecked")
        private static Lookahead look(Object lines) {
            return new Lookahead((List<List<List<Object>>>) lines, 0,
                    previews -> previews.stream().map(Preview::rewards).toList(), error -> "refused");
        }

        @Override
        public void end(End end) {
            if (end.mode() == Mode.LEARN) {
                ends++;
                reward += end.reward();
            }
        }

        @Override
        public Object message(Object body) {
            if (!(body instanceof String word)) {
                return body;
            }
            return switch (word) {
                case "crash" -> throw new IllegalStateException("asked to crash");
                case "counters" -> Map.of("decisions", decisions, "ends", ends, "reward", reward);
                case "last" -> last;
                case "spec" -> Map.of(
                        "observation_spaces", spec.observationSpaces(), "action_spaces", spec.actionSpaces());
                default -> body;
            };
        }

        @Override
        public byte[] save() {
            return (decisions + " " + ends + " " + reward).getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public void load(byte[] state) {
            String[] parts = new String(state, StandardCharsets.ISO_8859_1).split(" ");
            try {
                long first = Long.parseLong(parts[0]);
                long second = Long.parseLong(parts[1]);
                reward = Double.parseDouble(parts[2]);
                decisions = first;
                ends = second;
            } catch (NumberFormatException | ArrayIndexOutOfBoundsException error) {
                throw new DovetailException("these bytes are not a saved conformer");
            }
        }
    }

    /** Counts turns. */
    private static final class Game implements Environment {
        static final Options OPTIONS = new Options()
                .integer("seats", 2, 1, 1000, "How many seats there are.")
                .integer("turns", 3, 1, Integer.MAX_VALUE, "How many turns are answered.")
                .bool("simultaneous", false, "Whether all seats act in each turn.")
                .bool("mask", false, "Whether legal actions are sent as a bit mask.")
                .any("space", Map.of("space", "Discrete", "n", 3L), "The observation and action space.")
                .any("observation", 0L, "What seats observe in turn 0.")
                .bool("truncate", false, "Whether the last turn is truncated.")
                .choice("fail", List.of("", "open", "start", "step"), "Where it fails.");

        private final Options.Values given;
        private final Space space;
        private final int seats;
        private long turn;

        Game(Options.Values given) {
            this.given = given;
            space = Space.of(given.any("space"));
            seats = (int) given.integer("seats");
        }

        private void fail(String where) {
            if (given.text("fail").equals(where)) {
                throw new IllegalStateException("asked to fail in " + where);
            }
        }

        @Override
        public Spec init() {
            fail("open");
            return Spec.of()
                    .withSeats(seats)
                    .withObservationSpaces(List.of(space))
                    .withActionSpaces(List.of(space))
                    .withRewardRange(0, 1)
                    .withMaxTurns(given.integer("turns"))
                    .withAfterstates(true);
        }

        private int[] toAct() {
            return given.bool("simultaneous") ? all() : new int[] {(int) (turn % seats)};
        }

        private int[] all() {
            int[] all = new int[seats];
            Arrays.setAll(all, each -> each);
            return all;
        }

        private Legal legal() {
            if (!(space instanceof Space.Discrete discrete)) {
                return null;
            }
            long[] actions = new long[(int) discrete.n()];
            Arrays.setAll(actions, each -> discrete.start() + each);
            return given.bool("mask") ? Legal.mask(actions) : Legal.of(actions);
        }

        @Override
        public Turn start(long seed) {
            fail("start");
            turn = 0;
            Object seen = "seed".equals(given.any("observation")) ? (Object) seed : given.any("observation");
            int[] toAct = toAct();
            return TurnFactory.ask(toAct, Arrays.stream(toAct)
                    .mapToObj(seat -> View.of(seat).withObservation(seen).withLegal(legal()))
                    .toList());
        }

        @Override
        public Turn step(JointAction actions) {
            fail("step");
            for (SeatValue each : actions.all()) {
                if (Long.valueOf(-1).equals(each.value())) {
                    throw new IllegalActionException(each.seat(), "-1 is never legal");
                }
            }
            int[] acted = toAct();
            turn++;
            boolean over = turn >= given.integer("turns");
            double[] score = new double[seats];
            Arrays.stream(acted).forEach(seat -> score[seat] = 1.0 / acted.length);
            View[] views = Arrays.stream(all())
                    .mapToObj(seat -> View.of(seat)
                            .withObservation(actions.all())
                            .withLegal(over ? null : legal())
                            .withReward(score[seat] > 0 ? 1 : 0))
                    .toArray(View[]::new);
            if (!over) {
                return TurnFactory.ask(toAct(), List.of(views));
            }
            return given.bool("truncate") ? TurnFactory.truncate(views) : TurnFactory.end(score, views);
        }

        @Override
        public String text(Integer seat) {
            return "turn " + turn;
        }

        @Override
        public Object afterstates(int seat) {
            Legal legal = legal();
            return legal == null ? null
                    : Arrays.stream(legal.actions()).mapToObj(each -> new long[] {turn + 1, each}).toList();
        }

        @Override
        public Scene scene(Integer seat) {
            return Scene.of().withWidth(1).withHeight(1).withCaption("turn " + turn);
        }

        @Override
        public Environment fork(int seat, long seed) {
            Game copy = new Game(given);
            copy.turn = turn;
            return copy;
        }

        @Override
        public Object message(Object body) {
            if ("crash".equals(body)) {
                throw new IllegalStateException("asked to crash");
            }
            return body;
        }
    }

    // -- the experiment -------------------------------------------------------------------------------

    private static final Encoder ENCODER = new Encoder();
    private static final Decoder DECODER = new Decoder();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.US_ASCII);

    private static void write(String key, Object value) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put(key, value);
        OUT.println(Reading.of(line));
    }

    @SuppressWarnings("unchecked")
    private static void experiment() {
        boolean lost = false;
        try (Experiment experiment = Experiment.connect()) {
            ArrayDeque<Message> events = new ArrayDeque<>();
            experiment.listen(events::add);
            write("welcome", experiment.name());
            var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            String line;
            while (!lost && (line = lines.readLine()) != null) {
                var command = new LinkedHashMap<>((Map<String, Object>) Reading.unread(Reading.json(line)));
                String type = (String) command.remove("type");
                try {
                    if (type.equals("wait")) {
                        await(experiment, events, (String) command.get("for"));
                    } else {
                        Object body = experiment.request(type, command);
                        write(type.equals("save") ? "saved" : "reply", body);
                    }
                } catch (RefusedException error) {
                    write("error", Map.of("code", error.code(), "message", error.getMessage()));
                } catch (DovetailException error) {
                    write("lost", error.getMessage());
                    lost = true;
                }
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        if (lost) {
            System.exit(1);
        }
    }

    /** Writes events until one of a type came. */
    @SuppressWarnings("unchecked")
    private static void await(Experiment experiment, ArrayDeque<Message> events, String wanted) {
        while (true) {
            while (events.isEmpty()) {
                experiment.poll(0.5);
            }
            Map<String, Object> fields = (Map<String, Object>) DECODER.decode(ENCODER.encode(events.poll()));
            String type = (String) fields.remove("type");
            write(type, fields);
            if (type.equals(wanted)) {
                return;
            }
        }
    }
}
