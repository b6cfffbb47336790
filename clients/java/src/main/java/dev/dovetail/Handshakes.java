package dev.dovetail;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;

/**
 * How handshakes with a key end: ZeroMQ itself says nothing.
 *
 * <p>JeroMQ's monitor tells that a key was denied. It does not tell that the broker uses another mechanism, for which
 * the broker's greeting is looked at, nor that the broker broke off a handshake, only that a connection has ended.
 */
final class Handshakes {
    /** Those that a broker may break off in a row, before its key is taken for another. */
    private static final int ATTEMPTS = 3;
    /** What a broker says of a key that it does not know. */
    private static final int DENIED = 400;
    private static final int EVENTS = zmq.ZMQ.ZMQ_EVENT_CONNECTED | zmq.ZMQ.ZMQ_EVENT_HANDSHAKE_PROTOCOL
            | zmq.ZMQ.ZMQ_EVENT_DISCONNECTED | zmq.ZMQ.ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
    /** Milliseconds for a look at the broker's greeting. */
    private static final int LOOK = 2000;

    private final ZContext context;
    private final String address;
    private ZMQ.Socket watched;
    private ZMQ.Socket events;
    private int sockets;
    /** Whether the broker has greeted on the latest connection, with the mechanism that this program uses. */
    private boolean greeted;
    /** Whether a connection has ended before that. */
    private boolean unlike;
    /** Connections that have ended; until the broker lets this program in, it broke off their handshakes. */
    private int failed;

    Handshakes(ZContext context, String address) {
        this.context = context;
        this.address = address;
    }

    /** Watches a socket that has not connected yet. */
    void watch(ZMQ.Socket socket) {
        String name = "inproc://handshakes-" + sockets++;
        socket.monitor(name, EVENTS);
        watched = socket;
        greeted = false;
        events = context.createSocket(SocketType.PAIR);
        events.connect(name);
    }

    /** {@return whether the broker has greeted on the latest connection} */
    boolean greeted() {
        return greeted;
    }

    /** Stops watching; due before the socket is closed, whose thread would wait for a reader. */
    void leave() {
        if (watched != null) {
            watched.monitor(null, 0);
            events.close();
            watched = null;
        }
    }

    /**
     * Looks at what has happened.
     *
     * @param welcomed whether the broker has ever let this program in
     * @return why the broker will never let it in, as an error says it after the broker's address, or null
     */
    String refusal(boolean welcomed) {
        for (ZEvent event = ZEvent.recv(events, ZMQ.DONTWAIT); event != null; ) {
            switch (event.getEvent()) {
                case CONNECTED -> greeted = false;
                case HANDSHAKE_PROTOCOL -> greeted = true;
                case HANDSHAKE_FAILED_AUTH -> {
                    if (Integer.valueOf(DENIED).equals(event.getValue())) {
                        return "does not accept this program's key; ask the person who runs it";
                    }
                }
                default -> { // disconnected
                    failed += greeted ? 1 : 0;
                    unlike |= !greeted;
                }
            }
            event = ZEvent.recv(events, ZMQ.DONTWAIT);
        }
        if (welcomed) {
            return null;
        }
        if (unlike) { // once, whatever came: it may take a while
            unlike = false;
            return mismatch();
        }
        return failed >= ATTEMPTS ? "breaks off each handshake; check the broker's public key: `server` in "
                + "the key file, or DOVETAIL_SERVER_KEY" : null;
    }

    /** What to say if the broker uses no keys; else null. */
    private String mismatch() {
        String mechanism;
        try (Socket socket = new Socket()) {
            URI place = URI.create(address);
            socket.connect(new InetSocketAddress(place.getHost(), place.getPort()), LOOK);
            socket.setSoTimeout(LOOK);
            // ZMTP: a signature and the version; the broker answers with its own, and its mechanism.
            socket.getOutputStream().write(new byte[] {-1, 0, 0, 0, 0, 0, 0, 0, 0, 127, 3});
            byte[] greeting = socket.getInputStream().readNBytes(32);
            mechanism = new String(greeting, 12, greeting.length - 12, StandardCharsets.ISO_8859_1).trim();
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException error) {
            return null; // something else is wrong
        }
        return mechanism.equals("NULL") ? "uses no keys; connect without the option key and DOVETAIL_KEY" : null;
    }
}
