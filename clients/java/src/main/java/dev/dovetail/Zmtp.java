package dev.dovetail;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The DEALER's side of one ZMTP 3.1 connection without keys (<a href="https://rfc.zeromq.org/spec/37/">RFC 37</a>),
 * without the socket: bytes in, frames and bytes out.
 */
final class Zmtp {
    /** The broker broke the protocol, or ended the connection; the connection is of no more use. */
    static final class WireException extends Exception {
        private static final long serialVersionUID = 1;
        /** Whether the broker asks for keys. */
        final boolean keys;

        WireException(String message, boolean keys) {
            super(message);
            this.keys = keys;
        }
    }

    private static final int MORE = 1;
    private static final int LONG = 2;
    private static final int COMMAND = 4;
    /** Bytes in a greeting. */
    private static final int GREETING = 64;
    /** Where the mechanism begins in a greeting. */
    private static final int MECHANISM = 12;
    /** Bytes that a frame from the broker may have. */
    private static final long MOST = Integer.MAX_VALUE - 16;
    /** Bytes that are allocated for a frame before they have come. */
    private static final int STEP = 1 << 20;

    private boolean greeted;
    private boolean ready;
    /** The flags of a frame of which a part has come. */
    private int flags;
    /** What has come of it, how much that is, and how long it will be; null between frames. */
    private byte[] partial;
    private int got;
    private int length;

    /** {@return whether messages may be sent} */
    boolean ready() {
        return ready;
    }

    /**
     * Returns what opens a connection. The rest of the greeting follows once the broker's has come: libzmq closes a
     * connection that asks for the wrong mechanism before it has sent its own.
     */
    static byte[] opening() {
        return Arrays.copyOf(greeting(), MECHANISM);
    }

    /** {@return a whole greeting} */
    static byte[] greeting() {
        byte[] greeting = new byte[GREETING];
        greeting[0] = -1;
        greeting[8] = 1;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        greeting[11] = 1;
        System.arraycopy(bytes("NULL"), 0, greeting, MECHANISM, 4);
        return greeting;
    }

    /** {@return how many bytes {@link #pack} writes} */
    static int size(List<byte[]> frames) {
        int size = 0;
        for (byte[] frame : frames) {
            size = Math.addExact(size, frame.length + (frame.length < 256 ? 2 : 9));
        }
        return size;
    }

    /** Writes one message of one or more frames. */
    static void pack(List<byte[]> frames, ByteBuffer out) {
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            frame(i < last ? MORE : 0, frames.get(i), out);
        }
    }

    private static void frame(int flags, byte[] body, ByteBuffer out) {
        if (body.length < 256) {
            out.put((byte) flags).put((byte) body.length);
        } else {
            out.put((byte) (flags | LONG)).putLong(body.length);
        }
        out.put(body);
    }

    /**
     * Takes bytes of the broker, and leaves those that cannot be read without more.
     *
     * @param in holds at least 64 bytes when full
     * @param frames gets the frames that are complete, those before an error too
     * @param answers gets bytes to be sent
     * @throws WireException if the connection is of no more use
     */
    void feed(ByteBuffer in, List<byte[]> frames, List<byte[]> answers) throws WireException {
        if (!greeted && !greet(in, answers)) {
            return;
        }
        while (partial != null || begin(in)) {
            if (got == partial.length && got < length) {
                partial = Arrays.copyOf(partial, (int) Math.min(length, 2L * got));
            }
            int some = Math.min(in.remaining(), partial.length - got);
            in.get(partial, got, some);
            got += some;
            if (got == length) {
                byte[] body = partial;
                partial = null;
                take(body, frames, answers);
            } else if (!in.hasRemaining()) {
                return;
            }
        }
    }

    private boolean greet(ByteBuffer in, List<byte[]> answers) throws WireException {
        int at = in.position();
        int there = in.remaining();
        if (there > 0 && in.get(at) != -1 || there > 9 && (in.get(at + 9) & 1) == 0) {
            throw new WireException("not a ZeroMQ socket", false);
        }
        if (there > 10 && in.get(at + 10) < 3) {
            throw new WireException("version " + in.get(at + 10) + " of ZMTP; expected 3 or later", false);
        }
        if (there < GREETING) {
            return false;
        }
        byte[] greeting = new byte[GREETING];
        in.get(greeting);
        String mechanism = text(greeting, MECHANISM, 20).replaceAll("\0+$", "");
        if (!mechanism.equals("NULL")) {
            throw new WireException("it asks for " + mechanism + "; expected NULL", mechanism.equals("CURVE"));
        }
        greeted = true;
        answers.add(Arrays.copyOfRange(greeting(), MECHANISM, GREETING));
        // Without an identity, as a broker tells programs apart by their sessions.
        answers.add(command("READY", bytes("\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0\0")));
        return true;
    }

    /** Reads the beginning of a frame; returns whether it is there. */
    private boolean begin(ByteBuffer in) throws WireException {
        if (in.remaining() < 2) {
            return false;
        }
        int at = in.position();
        int found = in.get(at);
        if ((found & ~7) != 0 || (found & COMMAND) != 0 && (found & MORE) != 0) {
            throw new WireException("a frame begins with the flags " + (found & 255) + "; expected 0 to 4 or 6", false);
        }
        boolean isLong = (found & LONG) != 0;
        if (isLong && in.remaining() < 9) {
            return false;
        }
        long size = isLong ? in.getLong(at + 1) : in.get(at + 1) & 255;
        if (size < 0 || size > MOST) {
            throw new WireException("a frame of " + Long.toUnsignedString(size) + " bytes; at most " + MOST
                    + " are read", false);
        }
        in.position(at + (isLong ? 9 : 2));
        flags = found;
        length = (int) size;
        got = 0;
        partial = new byte[Math.min(length, STEP)];
        return true;
    }

    private void take(byte[] body, List<byte[]> frames, List<byte[]> answers) throws WireException {
        if ((flags & COMMAND) != 0) {
            obey(body, answers);
        } else if (ready) {
            frames.add(body);
        } else {
            throw new WireException("a message came before READY", false);
        }
    }

    private void obey(byte[] body, List<byte[]> answers) throws WireException {
        int end = body.length == 0 ? 0 : 1 + (body[0] & 255);
        if (body.length == 0 || end > body.length) {
            throw new WireException("a command is longer than its frame", false);
        }
        String name = text(body, 1, end - 1);
        switch (name) {
            case "ERROR" -> throw new WireException(
                    "the broker says: " + text(body, Math.min(end + 1, body.length), body.length), false);
            // Two bytes of time to live, then up to 16 of context, which the answer repeats.
            case "PING" -> answers.add(command("PONG", Arrays.copyOfRange(body, Math.min(end + 2, body.length),
                    Math.min(end + 18, body.length))));
            case "READY" -> {
                if (!ready) {
                    meet(body, end);
                }
            }
            default -> {
                if (!ready) {
                    throw new WireException("the command " + name + " came before READY", false);
                }
            }
        }
    }

    /** Reads the properties of a broker that is ready. */
    private void meet(byte[] body, int from) throws WireException {
        ByteBuffer in = ByteBuffer.wrap(body, from, body.length - from);
        while (in.hasRemaining()) {
            int name = in.get() & 255;
            int value = name + 4 <= in.remaining() ? in.getInt(in.position() + name) : -1;
            if (value < 0 || value > in.remaining() - name - 4) {
                throw new WireException("a property of READY is longer than READY itself", false);
            }
            String property = text(body, in.position(), name);
            String type = text(body, in.position() + name + 4, value);
            if (property.equalsIgnoreCase("Socket-Type") && !type.equals("ROUTER")) {
                throw new WireException("a socket of type " + type + "; expected ROUTER", false);
            }
            in.position(in.position() + name + 4 + value);
        }
        ready = true;
    }

    private static byte[] command(String name, byte[] data) {
        byte[] body = ByteBuffer.allocate(1 + name.length() + data.length)
                .put((byte) name.length()).put(bytes(name)).put(data).array();
        ByteBuffer out = ByteBuffer.allocate(size(List.of(body)));
        frame(COMMAND, body, out);
        return out.array();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String text(byte[] bytes, int from, int length) {
        return new String(bytes, from, Math.min(length, bytes.length - from), StandardCharsets.ISO_8859_1);
    }
}
