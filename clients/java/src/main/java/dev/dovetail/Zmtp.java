package dev.dovetail;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The DEALER's side of one ZMTP 3.1 connection (<a href="https://rfc.zeromq.org/spec/37/">RFC 37</a>), without the
 * socket: bytes in, frames and bytes out.
 */
final class Zmtp {
    /** The broker broke the protocol, or ended the connection; the connection is of no more use. */
    static class WireException extends Exception {
        private static final long serialVersionUID = 1;

        WireException(String message) {
            super(message);
        }
    }

    /** The broker and this program do not agree on keys. */
    static final class MismatchException extends WireException {
        private static final long serialVersionUID = 1;

        MismatchException(String message) {
            super(message);
        }
    }

    /** The broker does not know this program's key. */
    static final class DeniedException extends WireException {
        private static final long serialVersionUID = 1;

        DeniedException(String message) {
            super(message);
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
    /** Bytes that a command may have. */
    private static final long COMMANDS = 1 << 16;
    /** Bytes that are allocated for a frame before they have come. */
    private static final int STEP = 1 << 20;

    /** The broker's status for an unknown key (ZAP, RFC 27). */
    private static final String DENIED = "400";
    /** A DEALER's metadata; without an identity, since a broker tells programs apart by their sessions. */
    private static final byte[] METADATA = bytes("\13Socket-Type\0\0\0\6DEALER\10Identity\0\0\0\0");

    /** The encryption; null for none. */
    private final Curve curve;
    private boolean greeted;
    private boolean ready;
    /** The flags of a frame of which a part has come. */
    private int flags;
    /** The bytes received so far, their number, and the full length; null between frames. */
    private byte[] partial;
    private int got;
    private int length;

    Zmtp(Curve curve) {
        this.curve = curve;
    }

    /** {@return whether messages may be sent} */
    boolean ready() {
        return ready;
    }

    /**
     * Returns what opens a connection. The rest of the greeting follows once the broker's has come: libzmq closes a
     * connection that asks for the wrong mechanism before it has sent its own.
     */
    static byte[] opening() {
        return Arrays.copyOf(greeting(""), MECHANISM);
    }

    /** {@return a whole greeting} */
    static byte[] greeting(String mechanism) {
        byte[] greeting = new byte[GREETING];
        greeting[0] = -1;
        greeting[8] = 1;
        greeting[9] = 0x7f;
        greeting[10] = 3;
        greeting[11] = 1;
        System.arraycopy(bytes(mechanism), 0, greeting, MECHANISM, mechanism.length());
        return greeting;
    }

    /** {@return the frames of one message as they travel} */
    List<byte[]> sealed(List<byte[]> frames) {
        if (curve == null) {
            return frames;
        }
        List<byte[]> found = new ArrayList<>();
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            found.add(curve.seal(i < last ? MORE : 0, frames.get(i)));
        }
        return found;
    }

    /** {@return how many bytes {@link #pack} writes} */
    static int size(List<byte[]> frames) {
        int size = 0;
        for (byte[] frame : frames) {
            size = Math.addExact(size, frame.length + (frame.length < 256 ? 2 : 9));
        }
        return size;
    }

    /** Writes one message of frames that are {@link #sealed}; encryption hides their flags. */
    void pack(List<byte[]> frames, ByteBuffer out) {
        int last = frames.size() - 1;
        for (int i = 0; i <= last; i++) {
            frame(i < last && curve == null ? MORE : 0, frames.get(i), out);
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
            throw new WireException("not a ZeroMQ socket");
        }
        if (there > 10 && in.get(at + 10) < 3) {
            throw new WireException("version " + in.get(at + 10) + " of ZMTP; expected 3 or later");
        }
        if (there < GREETING) {
            return false;
        }
        byte[] greeting = new byte[GREETING];
        in.get(greeting);
        String mechanism = text(greeting, MECHANISM, 20).replaceAll("\0+$", "");
        String ours = curve == null ? "NULL" : "CURVE";
        if (!mechanism.equals(ours)) {
            throw new MismatchException("it asks for " + mechanism + "; expected " + ours);
        }
        greeted = true;
        answers.add(Arrays.copyOfRange(greeting(ours), MECHANISM, GREETING));
        answers.add(command(curve == null ? named("READY", METADATA) : curve.hello()));
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
            throw new WireException("a frame begins with the flags " + (found & 255) + "; expected 0 to 4 or 6");
        }
        boolean isLong = (found & LONG) != 0;
        if (isLong && in.remaining() < 9) {
            return false;
        }
        long size = isLong ? in.getLong(at + 1) : in.get(at + 1) & 255;
        if ((found & COMMAND) != 0 && (size < 0 || size > COMMANDS)) {
            throw new WireException("a command of " + Long.toUnsignedString(size) + " bytes; at most " + COMMANDS
                    + " are read");
        }
        if (size < 0 || size > MOST) {
            throw new WireException("a frame of " + Long.toUnsignedString(size) + " bytes; at most " + MOST
                    + " are read");
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
            if (curve != null && ready) {
                throw new WireException("a command that is not encrypted");
            }
            obey(body, answers);
        } else if (!ready) {
            throw new WireException("a message came before READY");
        } else if (curve == null) {
            frames.add(body);
        } else {
            byte[] opened = curve.open(body);
            byte[] data = Arrays.copyOfRange(opened, 1, opened.length);
            if ((opened[0] & 2) != 0) {
                obey(data, answers);
            } else {
                frames.add(data);
            }
        }
    }

    private void obey(byte[] body, List<byte[]> answers) throws WireException {
        int end = body.length == 0 ? 0 : 1 + (body[0] & 255);
        if (body.length == 0 || end > body.length) {
            throw new WireException("a command is longer than its frame");
        }
        String name = text(body, 1, end - 1);
        byte[] data = Arrays.copyOfRange(body, end, body.length);
        if (name.equals("ERROR")) {
            String why = text(data, Math.min(1, data.length), data.length);
            throw why.equals(DENIED) ? new DeniedException(why) : new WireException("the broker says: " + why);
        }
        if (name.equals("PING")) {
            // Two bytes of time to live, then up to 16 of context, which the answer repeats.
            byte[] pong = named("PONG", Arrays.copyOfRange(data, Math.min(2, data.length), Math.min(18, data.length)));
            answers.add(curve != null && ready ? framed(0, curve.seal(2, pong)) : command(pong));
        } else if (!ready && name.equals("WELCOME") && curve != null) {
            answers.add(command(curve.initiate(data, METADATA)));
        } else if (!ready && name.equals("READY")) {
            meet(curve == null ? data : curve.ready(data));
        } else if (!ready) {
            throw new WireException("the command " + name + " came before READY");
        }
    }

    /** Reads the properties of a broker that is ready. */
    private void meet(byte[] body) throws WireException {
        ByteBuffer in = ByteBuffer.wrap(body);
        while (in.hasRemaining()) {
            int name = in.get() & 255;
            int value = name + 4 <= in.remaining() ? in.getInt(in.position() + name) : -1;
            if (value < 0 || value > in.remaining() - name - 4) {
                throw new WireException("a property of READY is longer than READY itself");
            }
            String property = text(body, in.position(), name);
            String type = text(body, in.position() + name + 4, value);
            if (property.equalsIgnoreCase("Socket-Type") && !type.equals("ROUTER")) {
                throw new WireException("a socket of type " + type + "; expected ROUTER");
            }
            in.position(in.position() + name + 4 + value);
        }
        ready = true;
    }

    /** {@return the body of a command} */
    private static byte[] named(String name, byte[] data) {
        return ByteBuffer.allocate(1 + name.length() + data.length)
                .put((byte) name.length()).put(bytes(name)).put(data).array();
    }

    private static byte[] command(byte[] body) {
        return framed(COMMAND, body);
    }

    private static byte[] framed(int flags, byte[] body) {
        ByteBuffer out = ByteBuffer.allocate(size(List.of(body)));
        frame(flags, body, out);
        return out.array();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String text(byte[] bytes, int from, int length) {
        return new String(bytes, from, Math.min(length, bytes.length - from), StandardCharsets.ISO_8859_1);
    }
}
