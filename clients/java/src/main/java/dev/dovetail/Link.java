package dev.dovetail;

import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.ZError;

/**
 * A connection to a broker that is made again when it breaks: a DEALER socket around a {@link Session}.
 *
 * <p>What waits is read together and what is to say is sent together. It is for one thread; while that one is busy
 * elsewhere, a thread of the link's own takes in what comes and answers pings, so that a peer that thinks long is not
 * taken for lost. The socket changes hands under a lock.
 */
final class Link implements AutoCloseable {
    /** Frames that are read together at the most, so that answers go out in between. */
    private static final int BATCH = 4096;

    private static final double WAIT = 10;
    /** Milliseconds between looks at the socket while the program does something else. */
    private static final int KEEP = 100;

    /** Nanoseconds without the broker's greeting after which the socket is replaced for the first time. */
    private static final long STUCK = 2_500_000_000L;

    private final Broker broker;
    private final Session session;
    private final ZContext context = context();
    private final Key key;
    private final Handshakes handshakes;
    private final ReentrantLock lock = new ReentrantLock();
    private ZMQ.Socket socket;
    /** When the socket was made. */
    private long made;
    /** Nanoseconds after which it is replaced if the broker has not greeted. */
    private long stuck = STUCK;
    private boolean closed;
    /** What was taken in and not asked for yet. */
    private List<Message> waiting = new ArrayList<>();
    /** How often a session had been lost when messages were handed out last. */
    private int lost;
    /** What went wrong while the program did something else. */
    private DovetailException failure;

    /** Seconds of the broker's silence after which {@link #receive} gives up. */
    private final double giveUp;
    /** Seconds for which this program has listened and heard nothing. */
    private double silence;
    /** When it listened last. */
    private long listened = System.nanoTime();
    /** Whether a person has heard of this silence. */
    private boolean warned;

    /**
     * Connects and waits for the broker's first answer.
     *
     * @param giveUp seconds of the broker's silence after which {@link #receive} throws; infinite for never
     * @throws DovetailException if there is no broker, it refuses this peer, or the key cannot be read
     */
    Link(Broker broker, Session session, double giveUp) {
        if (broker.address().startsWith("ipc:")) {
            // It would wait in vain: JeroMQ 0.6 has TCP under the name of ipc, which only other JeroMQ programs know.
            throw new DovetailException("the Java client cannot connect to " + broker.address()
                    + "; let the broker listen at an address like " + Broker.ADDRESS);
        }
        this.broker = broker;
        this.session = session;
        this.giveUp = giveUp;
        key = broker.key() == null ? null : Key.read(broker.key());
        handshakes = new Handshakes(context, broker.address(), key != null);
        try {
            connect();
            long end = System.nanoTime() + (long) (WAIT * 1e9);
            while (session.welcome() == null) {
                read(100);
                if (System.nanoTime() > end) {
                    throw new DovetailException(
                            "no broker answers at " + broker.address() + "; start one with `dovetail broker`");
                }
            }
        } catch (RuntimeException error) {
            close(false);
            throw translated(error);
        }
        Thread keeper = new Thread(this::keep, "dovetail-link");
        keeper.setDaemon(true);
        keeper.start();
    }

    /** Returns a context that is quiet about commands to a socket that has just closed, which JeroMQ prints. */
    private static ZContext context() {
        ZContext made = new ZContext(1);
        made.setNotificationExceptionHandler((thread, error) -> {
            if (!(error.getCause() instanceof ClosedChannelException)) {
                error.printStackTrace();
            }
        });
        return made;
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
                    read(0);
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

    private void connect() {
        if (socket != null) {
            handshakes.leave();
            socket.close();
        }
        socket = context.createSocket(SocketType.DEALER);
        made = System.nanoTime();
        socket.setLinger(0);
        socket.setReconnectIVL(100);
        socket.setReconnectIVLMax(1000);
        socket.setHeartbeatIvl(5000);
        // About 2 % of JeroMQ's connections never start their handshake (zeromq/jeromq, pull request 1022); after this
        // time it connects again, and what was sent is kept. A few of these never end by themselves (see STUCK).
        socket.setHandshakeIvl(1000);
        socket.setSndHWM(0);
        socket.setRcvHWM(0);
        if (key != null) {
            key.set(socket);
        }
        handshakes.watch(socket);
        boolean well = false;
        try {
            well = socket.connect(broker.address());
        } catch (ZMQException error) {
            if (error.getErrorCode() == ZError.EINTR) {
                throw error;
            }
        } catch (IllegalArgumentException | UnsupportedOperationException error) {
            // reported below
        }
        if (!well) {
            throw new DovetailException(
                    "'" + broker.address() + "' is not a broker address; expected something like " + Broker.ADDRESS);
        }
        socket.send(session.greet(System.nanoTime()));
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
        } catch (ZMQException error) {
            throw translated(error);
        } finally {
            lock.unlock();
        }
    }

    private void read(int millis) {
        socket.setReceiveTimeOut(millis);
        byte[] frame = socket.recv();
        if (frame == null) {
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
        List<byte[]> frames = new ArrayList<>();
        do {
            frames.add(frame);
            while (socket.hasReceiveMore()) {
                frames.add(socket.recv());
            }
            frame = frames.size() < BATCH ? socket.recv(ZMQ.DONTWAIT) : null;
        } while (frame != null);
        List<byte[]> answers = new ArrayList<>();
        session.receive(frames, System.nanoTime(), waiting, answers);
        transmit(answers);
    }

    /** Looks after the connection while nothing comes. */
    private void nothing(long now) {
        String refusal = handshakes.refusal(session.welcome() != null);
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
        if (session.welcome() == null && !handshakes.greeted() && now - made > stuck) {
            stuck *= 2; // a busy broker's greeting may be slow
            connect();
        } else if (session.silent(now) && session.welcome() == null) {
            socket.send(session.greet(now)); // the hello or its welcome may have been lost
        } else if (session.silent(now)) {
            connect();
        }
    }

    private String silent() {
        return "the broker at " + broker.address() + " has been silent for " + Math.round(silence) + " s";
    }

    /** Sends frames together; not if they belong to a session that was lost meanwhile. */
    void send(List<byte[]> frames) {
        if (frames.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            if (session.lost() == lost) {
                transmit(frames);
            }
        } catch (ZMQException error) {
            throw translated(error);
        } finally {
            lock.unlock();
        }
    }

    private void transmit(List<byte[]> frames) {
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            socket.send(frames.get(i), i < last ? ZMQ.SNDMORE : 0);
        }
    }

    /** What is thrown in place of an error; the flag of an interrupted thread, which JeroMQ clears, is set again. */
    private static RuntimeException translated(RuntimeException error) {
        if (error instanceof ZMQException broken && broken.getErrorCode() == ZError.EINTR) {
            Thread.currentThread().interrupt();
            return new DovetailException("interrupted while talking to the broker", error);
        }
        return error;
    }

    /** Whether the broker has left, and everything before that was asked for. */
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

    /** Leaves; with a goodbye the broker keeps nothing for a return. */
    private void close(boolean goodbye) {
        boolean interrupted = Thread.interrupted(); // JeroMQ neither sends nor closes in an interrupted thread
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            if (socket != null) {
                if (goodbye && !session.departed()) {
                    socket.send(session.goodbye());
                    socket.setLinger(500);
                }
                handshakes.leave();
                socket.close();
            }
            context.close();
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
