package dev.dovetail;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * A connection to a broker that makes itself anew when it breaks: a DEALER socket around a {@link Session}.
 *
 * <p>What waits is read together and what is to say is sent together. It is for one thread; while that one is busy
 * elsewhere, a thread of the link's own takes in what comes and answers pings, so that a peer that thinks long is not
 * taken for lost. The socket changes hands under a lock.
 */
final class Link implements AutoCloseable {
    /** Frames that are read together at the most, so that answers go out in between. */
    private static final int BATCH = 4096;

    private static final double WAIT = 10;
    /** Milliseconds between looks at the socket while nobody else reads. */
    private static final int KEEP = 100;

    private final Broker broker;
    private final Session session;
    private final ZContext context = new ZContext(1);
    private final ReentrantLock lock = new ReentrantLock();
    private ZMQ.Socket socket;
    private int timeout = -1;
    private boolean closed;
    /** What was taken in and not asked for yet. */
    private List<Incoming> waiting = new ArrayList<>();
    /** How often a session had been lost when messages were handed out last. */
    private int lost;
    /** What went wrong while nobody asked. */
    private DovetailException failure;

    /**
     * Connects and waits for the broker's first answer.
     *
     * @throws DovetailException if there is no broker, or it refuses this peer
     */
    Link(Broker broker, Session session) {
        if (broker.address().startsWith("ipc:")) {
            // It would wait in vain: JeroMQ 0.6 has TCP under the name of ipc, which only other JeroMQ programs know.
            throw new DovetailException("the Java client cannot connect to " + broker.address()
                    + "; let the broker listen at an address like " + Broker.ADDRESS);
        }
        this.broker = broker;
        this.session = session;
        try {
            connect();
            long giveUp = System.nanoTime() + (long) (WAIT * 1e9);
            while (session.welcome() == null) {
                read(100);
                if (System.nanoTime() > giveUp) {
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

    private void keep() {
        try {
            while (true) {
                Thread.sleep(KEEP);
                if (!lock.tryLock()) {
                    continue; // somebody reads or writes
                }
                try {
                    if (closed || failure != null) {
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
            // nobody interrupts it but a program that ends
        }
    }

    private void connect() {
        if (socket != null) {
            socket.setLinger(0);
            socket.close();
        }
        socket = context.createSocket(SocketType.DEALER);
        socket.setLinger(0);
        socket.setReconnectIVL(100);
        socket.setReconnectIVLMax(1000);
        socket.setHeartbeatIvl(5000);
        socket.setSndHWM(0);
        socket.setRcvHWM(0);
        timeout = -1;
        boolean well;
        try {
            well = socket.connect(broker.address());
        } catch (ZMQException | IllegalArgumentException | UnsupportedOperationException error) {
            well = false;
        }
        if (!well) {
            throw new DovetailException(
                    "'" + broker.address() + "' is no address of a broker; write it like " + Broker.ADDRESS);
        }
        socket.send(session.greet(System.nanoTime()));
    }

    /**
     * The messages that came, waiting up to some milliseconds for the first; none if none came.
     *
     * @throws DovetailException if the broker refuses this peer
     */
    List<Incoming> receive(int millis) {
        lock.lock();
        try {
            if (waiting.isEmpty() && failure == null) {
                read(millis);
            }
            if (waiting.isEmpty() && failure != null) {
                throw failure;
            }
            if (waiting.isEmpty()) {
                return List.of();
            }
            lost = session.lost();
            List<Incoming> found = waiting;
            waiting = new ArrayList<>();
            return found;
        } finally {
            lock.unlock();
        }
    }

    private void read(int millis) {
        if (millis != timeout) {
            timeout = millis;
            socket.setReceiveTimeOut(millis);
        }
        byte[] frame = socket.recv();
        if (frame == null) {
            if (session.silent(System.nanoTime())) {
                connect();
            }
            return;
        }
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

    /** Whether the broker has said goodbye, and everything before that was asked for. */
    boolean departed() {
        lock.lock();
        try {
            return session.departed() && waiting.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    Incoming.Welcome welcome() {
        lock.lock();
        try {
            return session.welcome();
        } finally {
            lock.unlock();
        }
    }

    /** Leaves; with a goodbye the broker keeps nothing for a return. */
    void close(boolean goodbye) {
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
                } else {
                    socket.setLinger(0);
                }
                socket.close();
                socket = null;
            }
        } finally {
            lock.unlock();
        }
        context.close();
    }

    @Override
    public void close() {
        close(true);
    }
}
