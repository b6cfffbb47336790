package dev.dovetail;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * Run control as a peer of the broker. For one thread; what the broker sends is taken in while a method waits.
 *
 * <pre>{@code
 * try (Experiment experiment = Experiment.connect()) {
 *     long learner = experiment.create("td-java", 1, Map.of("epsilon", 0.1));
 *     long other = experiment.create("random-java");
 *     for (Event.Episode each : experiment.run(RunOptions.of("connect_four", learner, other).episodes(100))) {
 *         System.out.println(each.index() + " " + Arrays.toString(each.outcome()));
 *     }
 * }
 * }</pre>
 */
public final class Experiment implements AutoCloseable {
    private static final double WAIT = 0.5;

    private final Link link;
    private final List<String> problems = new ArrayList<>();
    private final Conversation conversation = new Conversation(this::hear, problems::add);
    private final Map<Long, Run> runs = new HashMap<>();
    private final Map<Long, List<Event>> early = new HashMap<>();
    private final List<Consumer<Event>> listeners = new CopyOnWriteArrayList<>();
    private int running;

    private Experiment(Broker broker, Role role) {
        link = new Link(broker, new Session(role, broker.name(), List.of(), broker.token()));
        poll(0); // the welcome says how large a request may be
    }

    /**
     * Connects to the broker that the usual variables name.
     *
     * @return the experiment
     * @throws DovetailException if there is none, or it refuses this peer
     */
    public static Experiment connect() {
        return connect(Broker.usual());
    }

    /**
     * Connects to a broker.
     *
     * @param broker which one
     * @return the experiment
     * @throws DovetailException if there is none, or it refuses this peer
     */
    public static Experiment connect(Broker broker) {
        return new Experiment(broker, Role.EXPERIMENT);
    }

    /**
     * Connects to a broker as somebody who only watches: {@link #catalogue}, {@link #watch} and {@link #listen}.
     *
     * @param broker which one
     * @return the observer
     * @throws DovetailException if there is none, or it refuses this peer
     */
    public static Experiment observe(Broker broker) {
        return new Experiment(broker, Role.OBSERVER);
    }

    /** {@return this peer's name at the broker} */
    public String name() {
        return link.welcome().name();
    }

    /** {@return what the broker complained of that answered no request, in one line each} */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    // -- what can be asked for ------------------------------------------------------------------------

    /** {@return what is connected; the form is SPEC.md's} */
    @SuppressWarnings("unchecked")
    public Map<String, Object> catalogue() {
        return (Map<String, Object>) request("catalogue", Map.of());
    }

    /**
     * Waits until environments and agents are offered.
     *
     * @param environments names of environments
     * @param agents names of agent types, or of agents that offer themselves
     * @param seconds how long
     * @throws DovetailException if they are not there in time; the text says which
     */
    public void expect(List<String> environments, List<String> agents, double seconds) {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        while (true) {
            Map<String, Object> present = catalogue();
            TreeSet<String> missing = new TreeSet<>();
            environments.stream().filter(each -> !offered(present, "environments", each)).forEach(missing::add);
            agents.stream().filter(each -> !offered(present, "agents", each)).forEach(missing::add);
            if (missing.isEmpty()) {
                return;
            }
            if (System.nanoTime() > end) {
                throw new DovetailException("nobody offers " + String.join(", ", missing) + " after " + seconds + " s");
            }
            poll(0.05);
        }
    }

    private static boolean offered(Map<String, Object> catalogue, String kind, String name) {
        return catalogue.get(kind) instanceof List<?> offers
                && offers.stream().anyMatch(each -> each instanceof Map<?, ?> map && name.equals(map.get("name")));
    }

    /**
     * Makes an agent of a type, with its defaults.
     *
     * @param agent the agent type
     * @return the number of the instance
     * @throws RefusedException if nobody offers the type
     */
    public long create(String agent) {
        return create(agent, 0, Map.of());
    }

    /**
     * Makes an agent of a type.
     *
     * @param agent the agent type
     * @param seed for its own random choices
     * @param parameters the type's options
     * @return the number of the instance
     * @throws RefusedException if nobody offers the type, or it refuses the parameters
     */
    public long create(String agent, long seed, Map<String, Object> parameters) {
        return create(agent, seed, parameters, null);
    }

    /**
     * Makes an agent of a type, beginning from a state.
     *
     * @param agent the agent type
     * @param seed for its own random choices
     * @param parameters the type's options
     * @param state bytes of {@link #save}, or null
     * @return the number of the instance
     * @throws RefusedException if nobody offers the type, or it refuses the parameters or the state
     */
    public long create(String agent, long seed, Map<String, Object> parameters, byte[] state) {
        Map<String, Object> fields =
                Fields.pairs("agent", agent, "seed", seed, "parameters", parameters, "state", state);
        return Fields.of(request("create", fields), "reply").integer("instance");
    }

    /**
     * Plays episodes.
     *
     * @param options what to play
     * @return the run
     * @throws RefusedException if there is no such environment or agent, or the options make no sense
     */
    public Run run(RunOptions options) {
        long number;
        running++;
        try {
            number = Fields.of(request("run", options.fields()), "reply").integer("run");
        } finally {
            running--;
        }
        Run run = new Run(this, number);
        runs.put(number, run);
        List<Event> before = early.remove(number);
        if (before != null) {
            before.forEach(each -> tell(run, each));
        }
        if (running == 0) {
            early.clear();
        }
        return run;
    }

    /**
     * Asks for an agent's state.
     *
     * @param instance the agent
     * @return its bytes
     */
    public byte[] save(long instance) {
        return (byte[]) request("save", Map.of("instance", instance));
    }

    /**
     * Asks for an agent's state, which the broker keeps across its restarts.
     *
     * @param instance the agent
     * @param keep the name under which
     * @return its bytes
     */
    public byte[] save(long instance, String keep) {
        return (byte[]) request("save", Map.of("instance", instance, "keep", keep));
    }

    /**
     * Puts an agent into a state that was saved.
     *
     * @param instance the agent
     * @param state the bytes
     */
    public void load(long instance, byte[] state) {
        request("load", Map.of("instance", instance, "state", state));
    }

    /**
     * Puts an agent into a state that the broker keeps.
     *
     * @param instance the agent
     * @param kept the name under which
     */
    public void load(long instance, String kept) {
        request("load", Map.of("instance", instance, "kept", kept));
    }

    /**
     * Lets an agent go.
     *
     * @param instance the agent
     */
    public void cleanup(long instance) {
        request("cleanup", Map.of("instance", instance));
    }

    /**
     * Sends a message to an agent.
     *
     * @param instance the agent
     * @param body whatever they have agreed on
     * @return its answer
     */
    public Object message(long instance, Object body) {
        return request("message", Fields.pairs("instance", instance, "body", body));
    }

    /**
     * Asks for the turns of a run, or no longer; listeners get them.
     *
     * @param run its number; null for all runs, present and future
     * @param on false ends it
     */
    public void watch(Long run, boolean on) {
        request("watch", Fields.pairs("run", run, "on", on));
    }

    /**
     * Hears every event, of all runs, once and in the order of arrival.
     *
     * @param listener is called while a method of this experiment waits
     */
    public void listen(Consumer<Event> listener) {
        listeners.add(listener);
    }

    // -- the exchange ---------------------------------------------------------------------------------

    /**
     * Sends any request of SPEC.md and waits for its answer.
     *
     * @param type its type
     * @param fields its fields, without {@code id}
     * @return the body of the reply; of {@code save} the bytes
     * @throws RefusedException if it got an error instead
     * @throws DovetailException if the broker is gone, or lost this session, or the request cannot travel or is larger
     *     than the broker reads, or the thread is interrupted
     */
    public Object request(String type, Map<String, Object> fields) {
        check();
        List<byte[]> out = new ArrayList<>();
        long id = conversation.ask(type, fields, out);
        link.send(out);
        while (true) {
            Incoming answer = conversation.answer(id);
            if (answer instanceof Incoming.Error error) {
                throw new RefusedException(error.code(), error.message());
            }
            if (answer instanceof Incoming.Saved saved) {
                return saved.state();
            }
            if (answer instanceof Incoming.Reply reply) {
                return reply.body();
            }
            poll(WAIT);
        }
    }

    /**
     * Takes what the broker has sent.
     *
     * @param seconds to wait if there is nothing; half a second is the most
     * @throws DovetailException if the broker is gone, or lost this session, or the thread is interrupted
     */
    public void poll(double seconds) {
        check();
        List<Incoming> messages = link.receive((int) Math.max(0, Math.min(500, seconds * 1000)));
        List<byte[]> out = new ArrayList<>();
        conversation.take(messages, out);
        link.send(out);
        if (messages.isEmpty()) { // what came before a goodbye counts
            check();
        }
    }

    private void check() {
        if (conversation.lost()) {
            throw new DovetailException("the broker restarted and does not know this experiment any more");
        }
        if (link.departed()) {
            throw new DovetailException("the broker has left");
        }
    }

    private void hear(Event event) {
        listeners.forEach(each -> each.accept(event));
        if (event instanceof Event.WatchedTurn) {
            return;
        }
        Run run = runs.get(event.run());
        if (run != null) {
            tell(run, event);
        } else if (running > 0) { // perhaps of the run whose number is still to come
            early.computeIfAbsent(event.run(), each -> new ArrayList<>()).add(event);
        }
    }

    private void tell(Run run, Event event) {
        run.hear(event);
        if (event instanceof Event.Done) {
            runs.remove(run.number());
        }
    }

    /** Leaves; runs in progress are cancelled. */
    @Override
    public void close() {
        link.close();
    }
}
