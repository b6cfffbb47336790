package dev.dovetail;

import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.ZError;

/** A connection that keys encrypt: JeroMQ's, whose CURVE is Java. */
final class KeyedDealer implements Dealer {
    /** Frames that are read together at the most, so that answers go out in between. */
    private static final int BATCH = 4096;
    /** Nanoseconds without the broker's greeting after which the socket is replaced for the first time. */
    private static final long STUCK = 2_500_000_000L;

    private final String address;
    private final Key key;
    private final Supplier<byte[]> hello;
    private final ZContext context = context();
    private final Handshakes handshakes;
    private ZMQ.Socket socket;
    /** When the socket was made. */
    private long made;
    /** Nanoseconds after which it is replaced if the broker has not greeted. */
    private long stuck = STUCK;

    /**
     * A dealer without a connection.
     *
     * @param hello makes the frame that is sent first on each socket
     * @throws DovetailException if the address is one of a file
     */
    KeyedDealer(String address, Key key, Supplier<byte[]> hello) {
        if (address.startsWith("ipc:")) {
            // It would wait in vain: JeroMQ 0.6 has TCP under the name of ipc, which only other JeroMQ programs know.
            throw new DovetailException("the Java client cannot connect to " + address
                    + " with a key; let the broker listen at an address like " + Broker.ADDRESS);
        }
        this.address = address;
        this.key = key;
        this.hello = hello;
        handshakes = new Handshakes(context, address);
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

    @Override
    public void open() {
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
        key.set(socket);
        handshakes.watch(socket);
        boolean well = false;
        try {
            well = socket.connect(address);
        } catch (ZMQException error) {
            if (error.getErrorCode() == ZError.EINTR) {
                throw translated(error);
            }
        } catch (IllegalArgumentException | UnsupportedOperationException error) {
            // reported below
        }
        if (!well) {
            throw Dealer.misplaced(address);
        }
        send(List.of(hello.get()));
    }

    @Override
    public boolean ready() {
        return true;
    }

    @Override
    public List<byte[]> receive(int millis) {
        try {
            socket.setReceiveTimeOut(millis);
            List<byte[]> frames = new ArrayList<>();
            byte[] frame = socket.recv();
            while (frame != null) {
                frames.add(frame);
                while (socket.hasReceiveMore()) {
                    frames.add(socket.recv());
                }
                frame = frames.size() < BATCH ? socket.recv(ZMQ.DONTWAIT) : null;
            }
            return frames;
        } catch (ZMQException error) {
            throw translated(error);
        }
    }

    @Override
    public void send(List<byte[]> frames) {
        try {
            int last = frames.size() - 1;
            for (int i = 0; i <= last; i++) {
                socket.send(frames.get(i), i < last ? ZMQ.SNDMORE : 0);
            }
        } catch (ZMQException error) {
            throw translated(error);
        }
    }

    @Override
    public String refusal(boolean welcomed) {
        String refusal = handshakes.refusal(welcomed);
        if (refusal == null && !welcomed && !handshakes.greeted() && System.nanoTime() - made > stuck) {
            stuck *= 2; // a busy broker's greeting may be slow
            open();
        }
        return refusal;
    }

    /** What is thrown in place of an error; the flag of an interrupted thread, which JeroMQ clears, is set again. */
    private static RuntimeException translated(ZMQException error) {
        if (error.getErrorCode() != ZError.EINTR) {
            return error;
        }
        Thread.currentThread().interrupt();
        return Dealer.interrupted(error);
    }

    @Override
    public void close(int linger) {
        if (socket != null) {
            socket.setLinger(linger);
            handshakes.leave();
            socket.close();
        }
        context.close();
    }
}
