package dev.dovetail;

import java.util.List;
import java.util.Map;
import java.util.Set;

/** The messages that a broker sends, by the names of SPEC.md. Those of one role only say so. */
sealed interface Incoming {
    Set<String> MODES = Set.of("learn", "evaluate");
    Set<String> WANTS = Set.of("afterstates", "text", "scene");

    // -- every role -----------------------------------------------------------------------------------

    record Welcome(
            String session, String name, boolean resumed, double heartbeat, double patience, Limits limits)
            implements Incoming {
        static Welcome read(Fields f) {
            f.integer("version", 1);
            f.texts("features");
            return new Welcome(
                    f.text("session"),
                    f.text("name"),
                    f.bool("resumed", false),
                    f.number("heartbeat", 1, 0),
                    f.number("patience", 30, 0),
                    f.map().containsKey("limits") ? Limits.read(f.inner("limits")) : Limits.DEFAULT);
        }
    }

    /** The number may be any of 64 bits, so it is kept as it came. */
    record Ping(Number number) implements Incoming {
        static Ping read(Fields f) {
            return new Ping(numberOf(f));
        }
    }

    record Pong(Number number) implements Incoming {
        static Pong read(Fields f) {
            return new Pong(numberOf(f));
        }
    }

    private static Number numberOf(Fields f) {
        Object value = f.map().getOrDefault("number", 0L);
        if (value instanceof java.math.BigInteger big) {
            return big;
        }
        return f.integer("number", 0, 0);
    }

    record Error(String code, String message, Long id, Long episode, Long seat, Long match) implements Incoming {
        static Error read(Fields f) {
            return new Error(
                    f.text("code"),
                    f.text("message"),
                    f.integerOrNil("id"),
                    f.integerOrNil("episode"),
                    f.integerOrNil("seat"),
                    f.integerOrNil("match"));
        }
    }

    record Bye(String reason) implements Incoming {
        static Bye read(Fields f) {
            return new Bye(f.text("reason", ""));
        }
    }

    // -- agents and experiments -----------------------------------------------------------------------

    record Reply(long id, Object body) implements Incoming {
        static Reply read(Fields f) {
            return new Reply(f.integer("id"), f.any("body"));
        }
    }

    // -- agents ---------------------------------------------------------------------------------------

    /** A request: it has an {@code id} and gets one answer. */
    sealed interface Request extends Incoming {
        long id();

        long instance();
    }

    record Create(long id, long instance, String agent, Map<String, Object> parameters, long seed, byte[] state)
            implements Request {
        static Create read(Fields f) {
            return new Create(
                    f.integer("id"),
                    f.integer("instance"),
                    f.text("agent"),
                    f.mapping("parameters"),
                    f.integer("seed", 0),
                    f.binaryOrNil("state"));
        }
    }

    record Init(long match, int seat, long instance, Spec spec, boolean lookahead) implements Incoming {
        static Init read(Fields f) {
            return new Init(
                    f.integer("match"),
                    f.small("seat"),
                    f.integer("instance"),
                    Spec.read(f.inner("spec")),
                    f.bool("lookahead", false));
        }
    }

    /** {@code start} or {@code step} to an agent; the fields that only a {@code start} has are in {@code first}. */
    record Decide(
            long episode,
            int seat,
            long turn,
            double reward,
            Object observation,
            long[] legal,
            Object afterstates,
            String text,
            Object scene,
            Clock clock,
            First first)
            implements Incoming {

        record First(long match, long seed, boolean learn) {}

        static Decide start(Fields f) {
            boolean learn = f.oneOf("mode", "learn", MODES).equals("learn");
            return read(f, new First(f.integer("match"), f.integer("seed"), learn));
        }

        static Decide step(Fields f) {
            return read(f, null);
        }

        private static Decide read(Fields f, First first) {
            return new Decide(
                    f.integer("episode"),
                    f.small("seat"),
                    f.integer("turn"),
                    f.number("reward", 0),
                    f.any("observation"),
                    Legal.read(f, "legal"),
                    f.any("afterstates"),
                    f.textOrNil("text"),
                    f.any("scene"),
                    Clock.read(f.innerOrNil("clock")),
                    first);
        }
    }

    record Ended(
            long episode,
            int seat,
            long match,
            double reward,
            Object observation,
            double[] outcome,
            String reason,
            Integer blame,
            double total,
            long decisions,
            String text,
            Object scene,
            boolean learn)
            implements Incoming {
        static Ended read(Fields f) {
            return new Ended(
                    f.integer("episode"),
                    f.small("seat"),
                    f.integer("match", 0),
                    f.number("reward", 0),
                    f.any("observation"),
                    f.numbersOrNil("outcome"),
                    f.oneOf("reason", "terminated", End.REASONS),
                    f.smallOrNil("blame"),
                    f.number("total", 0),
                    f.integer("decisions", 0),
                    f.textOrNil("text"),
                    f.any("scene"),
                    f.oneOf("mode", "learn", MODES).equals("learn"));
        }
    }

    record Save(long id, long instance) implements Request {
        static Save read(Fields f) {
            f.textOrNil("keep");
            return new Save(f.integer("id"), f.integer("instance"));
        }
    }

    record Load(long id, long instance, byte[] state) implements Request {
        static Load read(Fields f) {
            f.textOrNil("kept");
            return new Load(f.integer("id"), f.integer("instance"), f.binary("state", new byte[0]));
        }
    }

    record Tell(long id, long instance, Object body) implements Request {
        static Tell read(Fields f) {
            return new Tell(f.integer("id"), f.integer("instance"), f.any("body"));
        }
    }

    record Leave(long match) implements Incoming {
        static Leave read(Fields f) {
            return new Leave(f.integer("match"));
        }
    }

    record Cleanup(long id, long instance) implements Request {
        static Cleanup read(Fields f) {
            return new Cleanup(f.integer("id"), f.integer("instance"));
        }
    }

    // -- environments ---------------------------------------------------------------------------------

    record Open(long match, String environment, Map<String, Object> configuration) implements Incoming {
        static Open read(Fields f) {
            return new Open(f.integer("match"), f.text("environment"), f.mapping("configuration"));
        }
    }

    record Begin(long match, long episode, long seed, List<List<String>> wants, boolean watched)
            implements Incoming {
        @SuppressWarnings("unchecked")
        static Begin read(Fields f) {
            for (Object row : f.list("wants")) {
                if (!(row instanceof List<?> wants)
                        || !wants.stream().allMatch(each -> each instanceof String && WANTS.contains(each))) {
                    throw f.invalid("wants", "arrays of " + String.join(", ", WANTS));
                }
            }
            return new Begin(
                    f.integer("match"),
                    f.integer("episode"),
                    f.integer("seed"),
                    (List<List<String>>) f.list("wants"),
                    f.bool("watched", false));
        }
    }

    /** Pairs of seat and action, in the order of {@code to_act}. */
    record Act(long episode, long turn, int[] seats, Object[] actions) implements Incoming {
        static Act read(Fields f) {
            f.required("actions");
            List<?> pairs = f.list("actions");
            int[] seats = new int[pairs.size()];
            Object[] actions = new Object[seats.length];
            for (int i = 0; i < seats.length; i++) {
                if (!(pairs.get(i) instanceof List<?> pair)
                        || pair.size() != 2
                        || !(pair.get(0) instanceof Long seat)
                        || seat != seat.intValue()) {
                    throw f.invalid("actions", "an array of pairs of seat and action");
                }
                seats[i] = seat.intValue();
                actions[i] = pair.get(1);
            }
            return new Act(f.integer("episode"), f.integer("turn"), seats, actions);
        }
    }

    /** A question of a seat: what would follow from these lines of actions? */
    record Ask(long id, long episode, int seat, long turn, List<List<List<Object>>> lines, long seed)
            implements Incoming {
        @SuppressWarnings("unchecked")
        static Ask read(Fields f) {
            f.required("lines");
            for (Object line : f.list("lines")) {
                if (!(line instanceof List<?> entries) || !entries.stream().allMatch(each -> each instanceof List<?>)) {
                    throw f.invalid("lines", "arrays of arrays of actions");
                }
            }
            return new Ask(
                    f.integer("id"),
                    f.integer("episode"),
                    f.small("seat"),
                    f.integer("turn"),
                    (List<List<List<Object>>>) f.list("lines"),
                    f.integer("seed", 0));
        }
    }

    record TellMatch(long id, long match, Object body) implements Incoming {
        static TellMatch read(Fields f) {
            return new TellMatch(f.integer("id"), f.integer("match"), f.any("body"));
        }
    }

    record Close(long match) implements Incoming {
        static Close read(Fields f) {
            return new Close(f.integer("match"));
        }
    }

    // -- experiments and observers --------------------------------------------------------------------

    record Saved(long id, byte[] state) implements Incoming {
        static Saved read(Fields f) {
            return new Saved(f.integer("id"), f.binary("state"));
        }
    }

    /** {@code episode}, {@code progress}, {@code done} or {@code turn}. */
    record Told(Event event) implements Incoming {}

    /**
     * Reads what a peer of a role accepts.
     *
     * @throws ProtocolException code {@code unknown-type} or {@code invalid}
     */
    static Incoming read(Role role, Map<String, Object> map) {
        if (!(map.get("type") instanceof String type)) {
            throw new ProtocolException("unknown-type", "a message must have a type, which is text");
        }
        Fields f = new Fields(map, type);
        Incoming found =
                switch (role) {
                    case AGENT -> toAgent(type, f);
                    case ENVIRONMENT -> toEnvironment(type, f);
                    default -> toExperiment(type, f);
                };
        if (found != null) {
            return found;
        }
        return switch (type) {
            case "ping" -> Ping.read(f);
            case "pong" -> Pong.read(f);
            case "welcome" -> Welcome.read(f);
            case "error" -> Error.read(f);
            case "bye" -> Bye.read(f);
            default -> throw new ProtocolException(
                    "unknown-type",
                    "an " + role.text() + " gets no message " + type);
        };
    }

    private static Incoming toAgent(String type, Fields f) {
        return switch (type) {
            case "step" -> Decide.step(f);
            case "start" -> Decide.start(f);
            case "end" -> Ended.read(f);
            case "init" -> Init.read(f);
            case "leave" -> Leave.read(f);
            case "create" -> Create.read(f);
            case "save" -> Save.read(f);
            case "load" -> Load.read(f);
            case "message" -> Tell.read(f);
            case "cleanup" -> Cleanup.read(f);
            case "reply" -> Reply.read(f);
            default -> null;
        };
    }

    private static Incoming toEnvironment(String type, Fields f) {
        return switch (type) {
            case "step" -> Act.read(f);
            case "start" -> Begin.read(f);
            case "open" -> Open.read(f);
            case "close" -> Close.read(f);
            case "lookahead" -> Ask.read(f);
            case "message" -> TellMatch.read(f);
            default -> null;
        };
    }

    private static Incoming toExperiment(String type, Fields f) {
        return switch (type) {
            case "reply" -> Reply.read(f);
            case "saved" -> Saved.read(f);
            case "episode" -> new Told(Event.Episode.read(f));
            case "progress" -> new Told(Event.Progress.read(f));
            case "done" -> new Told(Event.Done.read(f));
            case "turn" -> new Told(Event.WatchedTurn.read(f));
            default -> null;
        };
    }
}
