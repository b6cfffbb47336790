package dev.dovetail;

import dev.dovetail.Zmtp.WireException;
import java.io.IOException;
import java.net.Inet6Address;
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
 * A connection without keys over {@code tcp://} or {@code ipc://}, read and written on the caller's thread.
 *
 * <p>The channel does not block, so that a thread that is interrupted does not close it, and can still send `bye`.
 */
final class SocketDealer implements Dealer {
    /** Nanoseconds before the second attempt to connect; they double with each that fails. */
    private static final long FIRST_DELAY = 50_000_000;
    private static final long LONGEST_DELAY = 1_000_000_000;
    /** Nanoseconds that connecting and greeting may take. */
    private static final long HANDSHAKE = 10_000_000_000L;
    private static final Pattern ADDRESS = Pattern.compile("(tcp|ipc)://(?:(.+):(\\d{1,5})|(.+))");

    private final String address;
    private final Supplier<byte[]> hello;
    private final Selector selector;
    private final ByteBuffer in = ByteBuffer.allocateDirect(1 << 16);
    /** What is to be written, between position and limit. */
    private ByteBuffer out = ByteBuffer.allocateDirect(1 << 16).limit(0);
    private final List<byte[]> answers = new ArrayList<>();
    private List<byte[]> frames = new ArrayList<>();
    private Zmtp wire = new Zmtp();
    private SocketChannel channel;
    private SelectionKey key;
    private long delay = FIRST_DELAY;
    /** When the next attempt is due, or this one is given up. */
    private long due;
    private boolean keys;

    /**
     * A dealer without a connection.
     *
     * @param hello makes the frame that is sent first on each connection
     * @throws DovetailException if the system has no sockets left
     */
    SocketDealer(String address, Supplier<byte[]> hello) {
        this.address = address;
        this.hello = hello;
        try {
            selector = Selector.open();
        } catch (IOException error) {
            throw new DovetailException("cannot wait for the broker: " + error.getMessage(), error);
        }
    }

    private SocketAddress place() {
        Matcher parts = ADDRESS.matcher(address);
        if (parts.matches() && parts.group(1).equals("ipc")) {
            try {
                return UnixDomainSocketAddress.of(Path.of(address.substring("ipc://".length())));
            } catch (IllegalArgumentException error) {
                throw Dealer.misplaced(address);
            }
        }
        if (!parts.matches() || parts.group(2) == null || parts.group(2).equals("*")
                || Integer.parseInt(parts.group(3)) > 65535) {
            throw Dealer.misplaced(address);
        }
        return new InetSocketAddress(parts.group(2), Integer.parseInt(parts.group(3)));
    }

    @Override
    public void open() {
        discard();
        SocketAddress place = place();
        boolean local = place instanceof UnixDomainSocketAddress;
        due = System.nanoTime() + HANDSHAKE;
        try {
            channel = SocketChannel.open(local ? StandardProtocolFamily.UNIX
                    : ((InetSocketAddress) place).getAddress() instanceof Inet6Address
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
        wire = new Zmtp();
        in.clear();
        answers.clear();
        out.limit(0);
    }

    @Override
    public boolean ready() {
        return wire.ready();
    }

    @Override
    public List<byte[]> receive(int millis) {
        long end = System.nanoTime() + millis * 1_000_000L;
        while (true) {
            turn(end);
            if (!frames.isEmpty()) {
                List<byte[]> found = frames;
                frames = new ArrayList<>();
                return found;
            }
            if (millis > 0 && Thread.currentThread().isInterrupted()) {
                throw Dealer.interrupted(null);
            }
            if (keys || System.nanoTime() >= end) {
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
            selector.selectedKeys().clear();
            if (channel == null) {
                return;
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
            keys = error instanceof WireException broken && broken.keys;
            later();
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
            // What came before an error counts: often it says why the broker ends the connection.
            wire.feed(in, frames, answers);
        } finally {
            in.compact();
        }
        if (wire.ready() && !before) {
            delay = FIRST_DELAY;
            answers.forEach(this::queue);
            answers.clear();
            send(List.of(hello.get()));
        } else if (!answers.isEmpty()) {
            answers.forEach(this::queue);
            answers.clear();
            flush();
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>Without a connection they are dropped: what matters is said again after the next {@code hello} (SPEC.md,
     * Delivery).
     */
    @Override
    public void send(List<byte[]> frames) {
        if (!wire.ready()) {
            return;
        }
        Zmtp.pack(frames, room(Zmtp.size(frames)));
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

    @Override
    public String refusal(boolean welcomed) {
        return keys ? "lets in only programs with a key; give the option key, or set DOVETAIL_KEY" : null;
    }

    @Override
    public void close(int linger) {
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
