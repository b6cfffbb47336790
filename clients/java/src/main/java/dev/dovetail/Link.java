package dev.dovetail;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A connection to a broker that is made again when it breaks: a {@link Dealer} around a {@link Session}.
 *
 * <p>What waits is read together and what is to say is sent together. It is for one thread; while that one is busy
 * elsewhere, a thread of the link's own takes in what comes and answers pings, so that a peer that thinks long is not
 * taken for lost. The socket changes hands under a lock.
 */
final class Link implements AutoCloseable {
    private static final double WAIT = 10;
    /** Milliseconds for sending {@code bye}. */
    private static final int LINGER = 500;
    /** Milliseconds between looks at the socket while the program does something else. */
    private static final int KEEP = 100;
    /** Messages that are taken in meanwhile, until the program asks for them. */
    private static final int UNHEARD = 1 << 16;

    private final Broker broker;
    private final Session session;
    private final Dealer dealer;
    private final ReentrantLock lock = new ReentrantLock();
    private boolean closed;
    /** Messages received but not yet requested. */
    private List<Message> waiting = new ArrayList<>();
    /** How often a session had been lost when messages were handed out last. */
    private int lost;
    /** A failure that happened while the program did something else. */
    private DovetailException failure;

    /** Seconds of the broker's silence after which {@link #receive} gives up. */
    private final double giveUp;
    /** Seconds for which this program has listened and heard nothing. */
    private double silence;
    /** When it listened last. */
    private long listened = System.nanoTime();
    /** True if a person has heard of this silence. */
    private boolean warned;

    /**
     * Connects and waits for the broker's first answer.
     *
     * @param giveUp seconds of the broker's silence after which {@link #receive} throws; infinite for never
     * @throws DovetailException if there is no broker, it refuses this peer, or the key cannot be read
     */
    Link(Broker broker, Session session, double giveUp) {
        this.broker = broker;
        this.session = session;
        this.giveUp = giveUp;
        dealer = new Dealer(broker.address(), broker.key() == null ? null : Key.read(broker.key()), this::hello);
        try {
            dealer.open();
            long end = System.nanoTime() + (long) (WAIT * 1e9);
            while (session.welcome() == null) {
                read(100);
                if (session.departed()) {
                    throw new DovetailException("the broker at " + broker.address() + " sends this program away");
                }
                if (System.nanoTime() > end) {
                    throw new DovetailException(
                            "no broker answers at " + broker.address() + "; start one with `dovetail broker`");
                }
            }
        } catch (RuntimeException error) {
            close(false);
            throw error;
        }
        Thread keeper = new Thread(this::keep, "dovetail-link");
        keeper.setDaemon(true);
        keeper.start();
    }

    private byte[] hello() {
        return session.greet(System.nanoTime());
    }

    private void keep() {
        try {
            while (true) {
                Thread.sleep(KEEP);
                if (!lock.tryLock()) {
                    continue; // another thread reads or writes
                }
                try {
                    if (closed || failure != null || session.departed()) {
                        return;
                    }
                    if (waiting.size() < UNHEARD) {
                        read(0);
                    }
                } catch (DovetailException error) {
                    failure = error;
                } finally {
                    lock.unlock();
                }
            }
        } catch (InterruptedException error) {
            // the program ends
        }
    }

    /**
     * The messages that came, waiting up to some milliseconds for the first; none if none came.
     *
     * @throws DovetailException if the broker refuses this peer, or was silent too long, or the thread was interrupted
     */
    List<Message> receive(int millis) {
        lock.lock();
        try {
            if (waiting.isEmpty() && failure == null) {
                read(millis);
            }
            if (waiting.isEmpty() && failure != null) {
                throw failure;
            }
            if (waiting.isEmpty() && silence > giveUp) {
                throw new DovetailException(silent() + "; see whether it still runs");
            }
            lost = session.lost();
            List<Message> found = waiting;
            waiting = new ArrayList<>();
            return found;
        } finally {
            lock.unlock();
        }
    }

    private void read(int millis) {
        List<byte[]> frames = dealer.receive(millis);
        if (frames.isEmpty()) {
            nothing(System.nanoTime());
            return;
        }
        if (warned) {
            System.err.println("the broker at " + broker.address() + " is back after " + Math.round(silence)
                    + " s of silence");
        }
        warned = false;
        silence = 0;
        listened = System.nanoTime();
        List<byte[]> answers = new ArrayList<>();
        session.receive(frames, System.nanoTime(), waiting, answers);
        if (!answers.isEmpty()) {
            dealer.send(answers);
        }
    }

    /** Looks after the connection while nothing comes. */
    private void nothing(long now) {
        String refusal = dealer.refusal();
        if (refusal != null) {
            throw new DovetailException("the broker at " + broker.address() + " " + refusal);
        }
        silence += Math.min(1, (now - listened) / 1e9); // a program that was stopped has not listened
        listened = now;
        if (!warned && session.welcome() != null && silence > session.patience() / 1e9) {
            warned = true;
            System.err.println(silent() + "; waiting" + (giveUp < Double.POSITIVE_INFINITY
                    ? " up to " + Math.round(giveUp) + " s" : "") + " for it to return");
        }
        if (!dealer.ready()) {
            return; // it says hello as soon as it is
        }
        if (session.silent(now) && session.welcome() == null) {
            dealer.send(List.of(hello())); // the hello or its welcome may have been lost
        } else if (session.silent(now)) {
            dealer.open();
        }
    }

    private String silent() {
        return "the broker at " + broker.address() + " has been silent for " + Math.round(silence) + " s";
    }

    /**
     * Sends frames together; not if they belong to a session that was lost meanwhile.
     *
     * @throws DovetailException if the thread was interrupted, whose flag stays set
     */
    void send(List<byte[]> frames) {
        if (frames.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw Dealer.interrupted();
            }
            if (session.lost() == lost) {
                dealer.send(frames);
            }
        } finally {
            lock.unlock();
        }
    }

    /** True if the broker has left, and everything before that was asked for. */
    boolean departed() {
        lock.lock();
        try {
            return session.departed() && waiting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    Message.Welcome welcome() {
        lock.lock();
        try {
            return session.welcome();
        } finally {
            lock.unlock();
        }
    }

    /** Disconnects; with {@code bye} the broker discards the session. */
    private void close(boolean goodbye) {
        boolean interrupted = Thread.interrupted(); // nothing can be awaited in an interrupted thread
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            boolean said = goodbye && !session.departed();
            if (said) {
                dealer.send(List.of(session.goodbye()));
            }
            dealer.close(said ? LINGER : 0);
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        close(true);
    }
}
