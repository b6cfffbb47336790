package dev.dovetail;

import dev.dovetail.Message.Catalogue;
import dev.dovetail.Message.Cleanup;
import dev.dovetail.Message.Done;
import dev.dovetail.Message.Episode;
import dev.dovetail.Message.Error;
import dev.dovetail.Message.ExperimentCreate;
import dev.dovetail.Message.ExperimentMessage;
import dev.dovetail.Message.Load;
import dev.dovetail.Message.Progress;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Run;
import dev.dovetail.Message.Save;
import dev.dovetail.Message.Saved;
import dev.dovetail.Message.Watch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Run control as a peer of the broker. For one thread; what the broker sends is taken in while a method waits.
 *
 * <pre>{@code
 * try (Experiment experiment = Experiment.connect()) {
 *     long learner = experiment.create("td-java", create -> create.withParameters(Map.of("epsilon", 0.1)));
 *     long other = experiment.create("random-java");
 *     RunHandle run = experiment.run("connect_four", List.of(learner, other), run -> run.withEpisodes(100));
 *     for (Message.Episode each : run) {
 *         System.out.println(each.index() + " " + Arrays.toString(each.outcome()));
 *     }
 * }
 * }</pre>
 */
public final class Experiment implements AutoCloseable {
    /** Seconds of the broker's silence after which an experiment gives up, unless it says otherwise. */
    public static final double GIVE_UP = 60;

    private static final double WAIT = 0.5;
    /** Errors that are kept. */
    private static final int PROBLEMS = 1000;

    private final Link link;
    private final List<String> problems = new ArrayList<>();
    private final Conversation conversation = new Conversation(this::hear, this::failed);
    private final Map<Long, RunHandle> runs = new HashMap<>();
    private final Map<Long, List<Message>> early = new HashMap<>();
    private final List<Consumer<Message>> listeners = new CopyOnWriteArrayList<>();
    private int running;

    private Experiment(Broker broker, Role role, double giveUp) {
        link = new Link(broker, new Session(role, broker.name(), List.of(), broker.token()), giveUp);
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
        return connect(broker, GIVE_UP);
    }

    /**
     * Connects to a broker.
     *
     * @param broker which one
     * @param giveUp seconds of the broker's silence after which methods that wait for it throw; infinite for never
     * @return the experiment
     * @throws DovetailException if there is none, or it refuses this peer
     */
    public static Experiment connect(Broker broker, double giveUp) {
        return new Experiment(broker, Role.EXPERIMENT, giveUp);
    }

    /**
     * Connects to a broker as an observer: {@link #catalogue}, {@link #watch} and {@link #listen}.
     *
     * @param broker which one
     * @return the observer
     * @throws DovetailException if there is none, or it refuses this peer
     */
    public static Experiment observe(Broker broker) {
        return new Experiment(broker, Role.OBSERVER, GIVE_UP);
    }

    /** {@return this peer's name at the broker} */
    public String name() {
        return link.welcome().name();
    }

    /** {@return the broker's unsolicited errors, one line each} */
    public List<String> problems() {
        return List.copyOf(problems);
    }

    // -- what can be asked for ------------------------------------------------------------------------

    /** {@return the environments, agents and runs at the broker, in SPEC.md's form} */
    public Map<String, Object> catalogue() {
        return Reader.map(Reader.ANY).read(request(Catalogue.of(0)));
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
                throw new DovetailException("timed out after " + seconds + " s: no connected program offers "
                        + String.join(", ", missing));
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
     * @throws RefusedException if the type is not on offer
     */
    public long create(String agent) {
        return create(agent, create -> create);
    }

    /**
     * Makes an agent of a type.
     *
     * @param agent the agent type
     * @param options sets fields of the request, as in {@code create -> create.withSeed(1)}
     * @return the number of the instance
     * @throws RefusedException if the type is not on offer, or it refuses the parameters or the state
     */
    public long create(String agent, UnaryOperator<ExperimentCreate> options) {
        return number("instance", request(options.apply(ExperimentCreate.of(0, agent))));
    }

    /**
     * Plays episodes.
     *
     * @param environment the name of an environment on offer
     * @param agents seat by seat an instance number, or the name of an agent that offers itself
     * @param options sets fields of the request, as in {@code run -> run.withEpisodes(100).withRotate(true)}
     * @return the run
     * @throws RefusedException if there is no such environment or agent, or the options do not fit it
     */
    public RunHandle run(String environment, List<?> agents, UnaryOperator<Run> options) {
        long number;
        running++;
        try {
            number = number("run", request(options.apply(Run.of(0, environment, List.copyOf(agents)))));
        } finally {
            running--;
        }
        RunHandle run = new RunHandle(this, number);
        runs.put(number, run);
        List<Message> before = early.remove(number);
        if (before != null) {
            before.forEach(each -> tell(run, each));
        }
        if (running == 0) {
            early.clear();
        }
        return run;
    }

    private static long number(String name, Object body) {
        return Fields.of(body).required(name, Reader.INTEGER);
    }

    /**
     * Asks for an agent's state.
     *
     * @param instance the agent
     * @return its bytes
     */
    public byte[] save(long instance) {
        return Reader.BINARY.read(request(Save.of(0, instance)));
    }

    /**
     * Asks for an agent's state.
     *
     * @param instance the agent
     * @param options sets fields of the request, as in {@code save -> save.withStateName("best").withTimeout(10.0)};
     *     the broker keeps a state with a name across its restarts
     * @return its bytes
     */
    public byte[] save(long instance, UnaryOperator<Save> options) {
        return Reader.BINARY.read(request(options.apply(Save.of(0, instance))));
    }

    /**
     * Restores a saved state of an agent.
     *
     * @param instance the agent
     * @param state the bytes
     */
    public void load(long instance, byte[] state) {
        request(Load.of(0, instance).withState(state));
    }

    /**
     * Restores a saved state of an agent.
     *
     * @param instance the agent
     * @param options sets fields of the request, as in {@code load -> load.withStateName("best")} for a state that the
     *     broker keeps
     */
    public void load(long instance, UnaryOperator<Load> options) {
        request(options.apply(Load.of(0, instance)));
    }

    /**
     * Ends an agent.
     *
     * @param instance the agent
     */
    public void cleanup(long instance) {
        request(Cleanup.of(0, instance));
    }

    /**
     * Sends a message to an agent.
     *
     * @param instance the agent
     * @param body any value that both sides understand
     * @return its answer
     */
    public Object message(long instance, Object body) {
        return message(message -> message.withInstance(instance).withBody(body));
    }

    /**
     * Sends a message to an agent, or to an environment of a run.
     *
     * @param options sets fields of the request, as in
     *     {@code message -> message.withInstance(3L).withBody("hello").withTimeout(10.0)}
     * @return its answer
     */
    public Object message(UnaryOperator<ExperimentMessage> options) {
        return request(options.apply(ExperimentMessage.of(0)));
    }

    /**
     * Subscribes to the turns of a run, or unsubscribes; listeners get them.
     *
     * @param run its number; null for all runs, present and future
     * @param on false ends it
     */
    public void watch(Long run, boolean on) {
        request(Watch.of(0).withRun(run).withOn(on));
    }

    /**
     * Hears every message that answers no request, of all runs, once and in the order of arrival: {@code episode},
     * {@code progress}, {@code done} and {@code turn}.
     *
     * @param listener is called while a method of this experiment waits
     */
    public void listen(Consumer<Message> listener) {
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
        Map<String, Object> message = new LinkedHashMap<>(fields);
        message.put("type", type);
        return exchange(message);
    }

    Object request(Message request) {
        return exchange(request.toWire());
    }

    private Object exchange(Map<String, Object> request) {
        check();
        List<byte[]> out = new ArrayList<>();
        long id = conversation.ask(request, out);
        link.send(out);
        while (true) {
            Message answer = conversation.answer(id);
            if (answer instanceof Error error) {
                throw RefusedException.of(error);
            }
            if (answer instanceof Saved saved) {
                return saved.state();
            }
            if (answer instanceof Reply reply) {
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
        List<Message> messages = link.receive((int) Math.max(0, Math.min(500, seconds * 1000)));
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

    private void hear(Message message) {
        listeners.forEach(each -> each.accept(message));
        Long number = message instanceof Episode episode ? (Long) episode.run()
                : message instanceof Progress progress ? (Long) progress.run()
                : message instanceof Done done ? (Long) done.run() : null;
        RunHandle run = runs.get(number);
        if (run != null) {
            tell(run, message);
        } else if (number != null && running > 0) { // perhaps of the run whose number is still to come
            early.computeIfAbsent(number, each -> new ArrayList<>()).add(message);
        }
    }

    private void failed(String problem) {
        if (problems.size() == PROBLEMS) {
            problems.remove(0);
        }
        problems.add(problem);
    }

    private void tell(RunHandle run, Message message) {
        run.hear(message);
        if (message instanceof Done) {
            runs.remove(run.number());
        }
    }

    /** Leaves; runs in progress are cancelled. */
    @Override
    public void close() {
        link.close();
    }
}
