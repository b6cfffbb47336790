package dev.dovetail;

import java.util.ArrayList;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * A connection to a broker that makes itself anew when it breaks: a DEALER socket around a {@link Session}.
 *
 * <p>What waits is read together and what is to say is sent together. For one thread.
 */
final class Link implements AutoCloseable {
    /** Frames that are read together at the most, so that answers go out in between. */
    private static final int BATCH = 4096;

    private static final double WAIT = 10;

    private final Broker broker;
    private final Session session;
    private final ZContext context = new ZContext(1);
    private ZMQ.Socket socket;
    private int timeout = -1;
    private List<Incoming> first = new ArrayList<>();

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
                first.addAll(read(100));
                if (System.nanoTime() > giveUp) {
                    throw new DovetailException(
                            "no broker answers at " + broker.address() + "; start one with `dovetail broker`");
                }
            }
        } catch (RuntimeException error) {
            close(false);
            throw error;
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

    /** The messages that came, waiting up to some milliseconds for the first; none if none came. */
    List<Incoming> receive(int millis) {
        if (!first.isEmpty()) {
            List<Incoming> found = first;
            first = new ArrayList<>();
            return found;
        }
        return read(millis);
    }

    private List<Incoming> read(int millis) {
        if (millis != timeout) {
            timeout = millis;
            socket.setReceiveTimeOut(millis);
        }
        byte[] frame = socket.recv();
        if (frame == null) {
            if (session.silent(System.nanoTime())) {
                connect();
            }
            return List.of();
        }
        List<byte[]> frames = new ArrayList<>();
        do {
            frames.add(frame);
            while (socket.hasReceiveMore()) {
                frames.add(socket.recv());
            }
            frame = frames.size() < BATCH ? socket.recv(ZMQ.DONTWAIT) : null;
        } while (frame != null);
        List<Incoming> messages = new ArrayList<>(frames.size());
        List<byte[]> answers = new ArrayList<>();
        session.receive(frames, System.nanoTime(), messages, answers);
        send(answers);
        return messages;
    }

    /** Sends frames together. */
    void send(List<byte[]> frames) {
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            socket.send(frames.get(i), i < last ? ZMQ.SNDMORE : 0);
        }
    }

    boolean departed() {
        return session.departed();
    }

    Incoming.Welcome welcome() {
        return session.welcome();
    }

    /** Leaves; with a goodbye the broker keeps nothing for a return. */
    void close(boolean goodbye) {
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
        context.close();
    }

    @Override
    public void close() {
        close(true);
    }
}
