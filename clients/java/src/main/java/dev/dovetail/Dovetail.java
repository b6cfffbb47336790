package dev.dovetail;

import dev.dovetail.Message.Offer;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Runs agents and environments as a program, connected to a broker. */
public final class Dovetail {
    private static final int WAIT = 100;

    private Dovetail() {}

    /**
     * Serves agent types as a whole program: until the broker leaves or the program gets SIGTERM or Ctrl-C. When the
     * broker has welcomed it, it prints one line; if the broker refuses, or there is none, it says so in one line and
     * exits with status 1. The usual variables say where the broker is; see {@link Broker#usual}.
     *
     * @param types what experiments can make
     */
    public static void main(AgentType... types) {
        program(() -> serve(Broker.usual(), new AgentHost(List.of(types)), true));
    }

    /**
     * Serves environments as a whole program, as {@link #main(AgentType...)} does agents.
     *
     * @param types what matches can have
     */
    public static void main(EnvironmentType... types) {
        program(() -> serve(Broker.usual(), new EnvironmentHost(List.of(types)), true));
    }

    /**
     * Runs something; a {@link DovetailException} is printed in one line, and the program exits with status 1.
     *
     * @param work what to run
     */
    public static void program(Runnable work) {
        try {
            work.run();
        } catch (DovetailException error) {
            System.err.println(Host.oneLine(error.getMessage()));
            System.exit(1);
        }
    }

    /**
     * Serves agent types until the broker leaves or the program gets SIGTERM or Ctrl-C.
     *
     * @param broker where
     * @param types what experiments can make
     * @throws DovetailException if there is no broker, it refuses this peer, or the thread is interrupted
     */
    public static void serve(Broker broker, AgentType... types) {
        serve(broker, new AgentHost(List.of(types)), false);
    }

    /**
     * Serves one agent, which experiments seat by its name, until the broker leaves or the program gets SIGTERM or
     * Ctrl-C.
     *
     * @param broker where
     * @param name what experiments call it
     * @param agent the agent
     * @throws DovetailException if there is no broker, it refuses this peer, or the thread is interrupted
     */
    public static void serve(Broker broker, String name, Agent agent) {
        serve(broker, new AgentHost(name, agent), false);
    }

    /**
     * Serves environments until the broker leaves or the program gets SIGTERM or Ctrl-C.
     *
     * @param broker where
     * @param types what matches can have
     * @throws DovetailException if there is no broker, it refuses this peer, or the thread is interrupted
     */
    public static void serve(Broker broker, EnvironmentType... types) {
        serve(broker, new EnvironmentHost(List.of(types)), false);
    }

    private static void serve(Broker broker, Host host, boolean telling) {
        Session session = new Session(host.role(), broker.name(), host.offers(), broker.token());
        Stop stop = new Stop();
        try (Link link = new Link(broker, session, Double.POSITIVE_INFINITY)) {
            if (telling) {
                System.out.println(ready(host, broker.address(), link.welcome().name()));
                System.out.flush();
            }
            while (!link.departed() && !stop.asked) {
                link.send(host.handle(link.receive(WAIT)));
            }
        } finally {
            host.leave();
            stop.over();
        }
    }

    /** One line about what is on offer where. */
    static String ready(Host host, String address, String name) {
        String names = host.offers().stream().map(Offer::name).collect(Collectors.joining(", "));
        return host.role().toWire() + " " + names + " ready at " + address + " as "
                + Host.oneLine(name);
    }

    /** Told by SIGTERM or Ctrl-C to stop; then the program ends in order, with status 0. */
    private static final class Stop {
        private static final int PATIENCE = 3;
        private final Thread hook = new Thread(this::stop, "dovetail-stop");
        private final CountDownLatch over = new CountDownLatch(1);
        volatile boolean asked;

        Stop() {
            try {
                Runtime.getRuntime().addShutdownHook(hook);
            } catch (IllegalStateException error) {
                asked = true; // the program is ending already
            }
        }

        private void stop() {
            asked = true;
            try {
                if (over.await(PATIENCE, TimeUnit.SECONDS)) {
                    // Java's own status after a signal is 128 + its number, whatever the hooks do.
                    Runtime.getRuntime().halt(0);
                }
            } catch (InterruptedException error) {
                // the program ends without waiting
            }
        }

        void over() {
            over.countDown();
            if (!asked) {
                try {
                    Runtime.getRuntime().removeShutdownHook(hook);
                } catch (IllegalStateException error) {
                    // the program is ending: the hook runs, and waited for this
                }
            }
        }
    }
}
