package dev.dovetail;

import dev.dovetail.Zmtp.DeniedException;
import dev.dovetail.Zmtp.MismatchException;
import dev.dovetail.Zmtp.WireException;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A program's end of ZeroMQ: a connection to a broker, which need not run yet, made again when it breaks.
 *
 * <p>It goes over {@code tcp://} or {@code ipc://}, and is read and written on the caller's thread. The channel does
 * not block, so that a thread that is interrupted does not close it, and can still send `bye`.
 */
final class Dealer {
    /** Nanoseconds before the second attempt to connect; they double with each that fails. */
    private static final long FIRST_DELAY = 50_000_000;
    private static final long LONGEST_DELAY = 1_000_000_000;
    /** Nanoseconds that connecting and greeting may take. */
    private static final long HANDSHAKE = 10_000_000_000L;
    private static final Pattern ADDRESS = Pattern.compile("(tcp|ipc)://(?:(.+):(\\d{1,5})|(.+))");

    /** Handshakes that a broker may break off in a row, before its key is taken for another. */
    private static final int ATTEMPTS = 3;
    /** Bytes that may wait for the broker to read them: more end the connection (S11.4). */
    private static final int UNREAD = 1 << 28;

    private final String address;
    /** This program's key; null for none. */
    private final Key secret;
    private final Supplier<byte[]> hello;
    private final Selector selector;
    private final ByteBuffer in = ByteBuffer.allocateDirect(1 << 16);
    /** The bytes to be written, between position and limit. */
    private ByteBuffer out = ByteBuffer.allocateDirect(1 << 16).limit(0);
    private final List<byte[]> answers = new ArrayList<>();
    private List<byte[]> frames = new ArrayList<>();
    private Zmtp wire;
    private SocketChannel channel;
    private SelectionKey key;
    private long delay = FIRST_DELAY;
    /** When the next attempt is due, or this one is given up. */
    private long due;
    /** True if the broker has let this program in on any connection. */
    private boolean met;
    /** Handshakes that the broker broke off. */
    private int failed;
    /** Why the broker will never let this program in; null as long as it may. */
    private String refusal;

    /**
     * A dealer without a connection.
     *
     * @param key this program's; null for none
     * @param hello makes the frame that is sent first on each connection
     * @throws DovetailException if the system has no sockets left
     */
    Dealer(String address, Key key, Supplier<byte[]> hello) {
        this.address = address;
        this.secret = key;
        this.hello = hello;
        wire = blank();
        try {
            selector = Selector.open();
        } catch (IOException error) {
            throw new DovetailException("cannot wait for the broker: " + error.getMessage(), error);
        }
    }

    private Zmtp blank() {
        return new Zmtp(secret == null ? null : new Curve(secret));
    }

    private SocketAddress place() {
        Matcher parts = ADDRESS.matcher(address);
        if (parts.matches() && parts.group(1).equals("ipc")) {
            try {
                return UnixDomainSocketAddress.of(Path.of(address.substring("ipc://".length())));
            } catch (IllegalArgumentException error) {
                throw misplaced();
            }
        }
        if (!parts.matches() || parts.group(2) == null || parts.group(2).equals("*")
                || Integer.parseInt(parts.group(3)) > 65535) {
            throw misplaced();
        }
        return new InetSocketAddress(parts.group(2), Integer.parseInt(parts.group(3)));
    }

    /**
     * Gives up the connection, if there is one, and opens another, on which the program says {@code hello}.
     *
     * @throws DovetailException if the address is not one
     */
    void open() {
        discard();
        SocketAddress place = place();
        boolean local = place instanceof UnixDomainSocketAddress;
        InetAddress host = local ? null : ((InetSocketAddress) place).getAddress(); // null if it has no address, too
        due = System.nanoTime() + HANDSHAKE;
        try {
            channel = SocketChannel.open(local ? StandardProtocolFamily.UNIX
                    : host instanceof Inet6Address
                            ? StandardProtocolFamily.INET6 : StandardProtocolFamily.INET);
            channel.configureBlocking(false);
            if (!local) {
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            }
            key = channel.register(selector, SelectionKey.OP_CONNECT);
            if (channel.connect(place)) {
                greet();
            }
        } catch (IOException | RuntimeException error) { // also of a host without an address
            later();
        }
    }

    private void greet() throws IOException {
        key.interestOps(SelectionKey.OP_READ);
        queue(Zmtp.opening());
        flush();
    }

    /** Plans the next attempt. */
    private void later() {
        discard();
        due = System.nanoTime() + delay;
        delay = Math.min(2 * delay, LONGEST_DELAY);
    }

    private void discard() {
        if (channel != null) {
            try {
                channel.close();
                selector.selectNow(); // lets the system have the socket back
            } catch (IOException error) {
                // it is closed all the same
            }
        }
        channel = null;
        wire = blank();
        in.clear();
        answers.clear();
        out.limit(0);
    }

    /** {@return whether what is sent leaves now} */
    boolean ready() {
        return wire.ready();
    }

    /**
     * Waits up to some milliseconds for frames, and returns those that came; none if none did.
     *
     * @throws DovetailException if the thread was interrupted, whose flag stays set
     */
    List<byte[]> receive(int millis) {
        long end = System.nanoTime() + millis * 1_000_000L;
        while (true) {
            turn(end);
            if (!frames.isEmpty()) {
                List<byte[]> found = frames;
                frames = new ArrayList<>();
                return found;
            }
            if (millis > 0 && Thread.currentThread().isInterrupted()) {
                throw interrupted();
            }
            if (refusal != null || System.nanoTime() >= end) {
                return List.of();
            }
        }
    }

    /** Waits once, and does what can be done. */
    private void turn(long end) {
        long now = System.nanoTime();
        boolean pending = channel == null || !wire.ready();
        if (pending && now - due >= 0) {
            if (channel == null) {
                open();
            } else {
                later();
            }
            pending = channel == null || !wire.ready();
        }
        long wait = (pending ? Math.min(end - now, due - now) : end - now) + 999_999;
        try {
            if (wait < 1_000_000) {
                selector.selectNow();
            } else {
                selector.select(wait / 1_000_000);
            }
            boolean happened = selector.selectedKeys().remove(key);
            selector.selectedKeys().clear();
            if (channel == null || !happened) {
                return; // what a key was ready for stays in it
            }
            if (key.isConnectable()) {
                if (channel.finishConnect()) {
                    greet();
                }
                return;
            }
            if (key.isWritable()) {
                flush();
            }
            if (key.isReadable()) {
                read();
            }
        } catch (IOException | WireException error) {
            doubt(error);
            later();
        }
    }

    /** Looks at why a connection has ended. */
    private void doubt(Exception error) {
        if (error instanceof MismatchException) {
            refusal = secret == null ? "lets in only programs with a key; give the option key, or set DOVETAIL_KEY"
                    : "uses no keys; connect without the option key and DOVETAIL_KEY";
        } else if (error instanceof DeniedException) {
            refusal = "does not accept this program's key; ask the person who runs it";
        } else if (secret != null && !met && channel != null && channel.isConnected() && ++failed >= ATTEMPTS) {
            refusal = "breaks off each handshake; check the broker's public key: `server` in the key file, or "
                    + "DOVETAIL_SERVER_KEY";
        }
    }

    private void read() throws IOException, WireException {
        int count = channel.read(in);
        if (count < 0) {
            throw new IOException("the broker has ended the connection");
        }
        boolean before = wire.ready();
        in.flip();
        try {
            // Deliver the frames before the error: they often say why the broker closes the connection.
            wire.feed(in, frames, answers);
        } finally {
            in.compact();
        }
        if (wire.ready() && !before) {
            delay = FIRST_DELAY;
            met = true;
            answers.forEach(this::queue);
            answers.clear();
            send(List.of(hello.get()));
        } else if (!answers.isEmpty()) {
            if (!before || out.remaining() < in.capacity()) { // a PONG is left out if much waits before it
                answers.forEach(this::queue);
            }
            answers.clear();
            flush();
        }
    }

    /**
     * Sends frames as one message. Without a connection they are dropped: what matters is said again after the next
     * {@code hello} (SPEC.md, Delivery).
     */
    void send(List<byte[]> frames) {
        if (out.remaining() > UNREAD) {
            later();
        }
        if (!wire.ready()) {
            return;
        }
        List<byte[]> sealed = wire.sealed(frames);
        wire.pack(sealed, room(Zmtp.size(sealed)));
        out.flip();
        try {
            flush();
        } catch (IOException error) {
            later();
        }
    }

    private void queue(byte[] bytes) {
        room(bytes.length).put(bytes);
        out.flip();
    }

    /** Makes room behind what is to be written, and returns it ready to be filled. */
    private ByteBuffer room(int size) {
        out.compact();
        if (out.remaining() < size) {
            long all = Math.max(Math.addExact(out.position(), size), 2L * out.capacity());
            ByteBuffer larger = ByteBuffer.allocateDirect((int) Math.min(all, Integer.MAX_VALUE));
            out = larger.put(out.flip());
        }
        return out;
    }

    /** Writes what the system takes; the rest follows while the program waits. */
    private void flush() throws IOException {
        channel.write(out);
        int wanted = out.hasRemaining() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ;
        if (key.interestOps() != wanted) {
            key.interestOps(wanted);
        }
    }

    /** {@return why the broker will never let this program in, as an error says it after its address; or null} */
    String refusal() {
        return refusal;
    }

    /** {@return the error for a thread that was interrupted} */
    static DovetailException interrupted() {
        return new DovetailException("interrupted while talking to the broker", null);
    }

    private DovetailException misplaced() {
        return new DovetailException(
                "'" + address + "' is not a broker address; expected something like " + Broker.ADDRESS);
    }

    /** Disconnects, once the broker has taken what was sent, or after some milliseconds; no thread is interrupted. */
    void close(int linger) {
        long end = System.nanoTime() + linger * 1_000_000L;
        boolean ended = false;
        while (channel != null && wire.ready() && System.nanoTime() < end) {
            if (!ended && !out.hasRemaining()) {
                ended = true;
                try {
                    channel.shutdownOutput(); // the broker closes when it has read everything
                } catch (IOException error) {
                    break;
                }
            }
            turn(end);
            frames.clear();
        }
        discard();
        try {
            selector.close();
        } catch (IOException error) {
            // nothing is lost
        }
    }
}
