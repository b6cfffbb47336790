package dev.dovetail;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Limits;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.msgpack.core.ExtensionTypeHeader;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;
import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Bytes to values. Integers become {@code Long} ({@code BigInteger} beyond 2^63-1), floats {@code Double}, text
 * {@code String}, binary {@code byte[]}, arrays {@code List}, maps {@code Map<String, Object>}, tensors
 * {@link Tensor}, other extensions {@link Extension}. Not for several threads at once.
 */
public final class Decoder {
    private static final byte[] NOTHING = {};
    /** The limits of a tensor's payload: an array with an array of lengths in it. */
    private static final Limits INSIDE = Limits.of().withFrame(Long.MAX_VALUE).withDepth(2).withElements(64);

    /** Strict: MessagePack of old did not tell text and binary apart, and the library reads either for both. */
    private static final MessagePack.UnpackerConfig STRICT = new MessagePack.UnpackerConfig()
            .withActionOnMalformedString(CodingErrorAction.REPORT)
            .withActionOnUnmappableString(CodingErrorAction.REPORT)
            .withAllowReadingBinaryAsString(false)
            .withAllowReadingStringAsBinary(false);

    private final ArrayBufferInput input = new ArrayBufferInput(NOTHING);
    private final MessageUnpacker unpacker = STRICT.newUnpacker(input);
    private Limits limits = Limits.of();

    /**
     * Sets what is read from now on.
     *
     * @param limits the largest frame
     */
    public void limit(Limits limits) {
        this.limits = limits;
    }

    /**
     * Returns the value in a frame, whatever it is.
     *
     * @param frame the bytes
     * @return the value
     * @throws ProtocolException code {@code limit} or {@code malformed}
     */
    public Object decode(byte[] frame) {
        FrameCheck.check(frame, limits);
        begin(frame);
        return value();
    }

    /** The map that a message is; its {@code type} has not been looked at. */
    Map<String, Object> message(byte[] frame) {
        FrameCheck.check(frame, limits);
        begin(frame);
        try {
            if (!unpacker.getNextFormat().getValueType().isMapType()) {
                throw new ProtocolException(Code.INVALID, "a message must be a map");
            }
            return map(Code.INVALID);
        } catch (IOException | MessagePackException | ProtocolException error) {
            if ("end".equals(about(frame).get("type"))) {
                return end(frame);
            }
            throw error instanceof ProtocolException wrong ? wrong : malformed(error);
        }
    }

    /** An {@code end}, with null for an observation or scene that cannot be read: every seat hears its end (S6.7). */
    private Map<String, Object> end(byte[] frame) {
        Map<String, Object> map = new LinkedHashMap<>();
        Decoder part = new Decoder();
        part.limit(limits);
        try {
            begin(frame);
            for (int left = unpacker.unpackMapHeader(); left > 0; left--) {
                String key = unpacker.unpackString();
                int from = (int) unpacker.getTotalReadBytes();
                unpacker.skipValue();
                try {
                    map.put(key, part.decode(Arrays.copyOfRange(frame, from, (int) unpacker.getTotalReadBytes())));
                } catch (ProtocolException error) {
                    if (!key.equals("observation") && !key.equals("scene")) {
                        throw error;
                    }
                    map.put(key, null);
                }
            }
        } catch (IOException | MessagePackException error) {
            throw malformed(error);
        }
        return map;
    }

    /** Returns the {@code type}, {@code id} and {@code seq} of a message that cannot be read, as far as they can be. */
    Map<String, Object> about(byte[] frame) {
        Map<String, Object> found = new HashMap<>();
        try {
            begin(frame);
            for (int left = unpacker.unpackMapHeader(); left > 0; left--) {
                String key = text(frame.length);
                if (key.equals("type")) {
                    found.put(key, text(frame.length));
                } else if ((key.equals("id") || key.equals("seq"))
                        && unpacker.getNextFormat().getValueType().isIntegerType()) {
                    found.put(key, unpacker.unpackLong());
                } else {
                    unpacker.skipValue();
                }
            }
        } catch (IOException | MessagePackException | ProtocolException error) {
            // what was found before it counts
        }
        return found;
    }

    /** A text whose announced length has not been checked. */
    private String text(int most) throws IOException {
        int length = unpacker.unpackRawStringHeader();
        if (length > most) {
            throw new ProtocolException(Code.MALFORMED, "text of " + length + " bytes in a frame of " + most);
        }
        return new String(unpacker.readPayload(length), UTF_8);
    }

    private void begin(byte[] frame) {
        try {
            input.reset(frame);
            unpacker.reset(input);
        } catch (IOException error) {
            throw malformed(error);
        }
    }

    /** A map; what it is called if a key is not text depends on whether it is the message itself. */
    private Map<String, Object> map(Code code) throws IOException {
        int size = unpacker.unpackMapHeader();
        Map<String, Object> map = new LinkedHashMap<>(2 * size);
        for (int i = 0; i < size; i++) {
            if (!unpacker.getNextFormat().getValueType().isStringType()) {
                throw new ProtocolException(code, "a key of a map is not text");
            }
            String key = unpacker.unpackString();
            map.put(key, value());
        }
        return map;
    }

    private Object value() {
        try {
            MessageFormat format = unpacker.getNextFormat();
            switch (format.getValueType()) {
                case NIL -> {
                    unpacker.unpackNil();
                    return null;
                }
                case BOOLEAN -> {
                    return unpacker.unpackBoolean();
                }
                case INTEGER -> {
                    if (format == MessageFormat.UINT64) {
                        BigInteger number = unpacker.unpackBigInteger();
                        return number.bitLength() < 64 ? (Object) number.longValue() : number;
                    }
                    return unpacker.unpackLong();
                }
                case FLOAT -> {
                    return unpacker.unpackDouble();
                }
                case STRING -> {
                    return unpacker.unpackString();
                }
                case BINARY -> {
                    return unpacker.readPayload(unpacker.unpackBinaryHeader());
                }
                case ARRAY -> {
                    int size = unpacker.unpackArrayHeader();
                    List<Object> list = new ArrayList<>(size);
                    for (int i = 0; i < size; i++) {
                        list.add(value());
                    }
                    return list;
                }
                case MAP -> {
                    return map(Code.MALFORMED);
                }
                case EXTENSION -> {
                    ExtensionTypeHeader header = unpacker.unpackExtensionTypeHeader();
                    byte[] data = unpacker.readPayload(header.getLength());
                    return header.getType() == 1 ? tensor(data) : new Extension(header.getType(), data);
                }
                default -> throw new ProtocolException(Code.MALFORMED, "no MessagePack");
            }
        } catch (IOException | MessagePackException error) {
            throw malformed(error);
        }
    }

    private static ProtocolException malformed(Exception error) {
        String text = error.getMessage();
        return new ProtocolException(
                Code.MALFORMED, text == null ? error.getClass().getSimpleName() : text.split("\n", 2)[0]);
    }

    private static Tensor tensor(byte[] payload) {
        try (MessageUnpacker in = STRICT.newUnpacker(payload)) {
            FrameCheck.check(payload, INSIDE); // so that a length which is announced and not there costs nothing
            if (in.unpackArrayHeader() != 3) {
                throw new ProtocolException(Code.MALFORMED, "tensor that is not [dtype, shape, bytes]");
            }
            String dtype = in.unpackString();
            Tensor.Type type = Tensor.Type.of(dtype);
            if (type == null) {
                throw new ProtocolException(Code.MALFORMED, "tensor of an unknown dtype");
            }
            int dimensions = in.unpackArrayHeader();
            if (dimensions > 32) {
                throw new ProtocolException(Code.MALFORMED, "tensor of more than 32 dimensions");
            }
            long[] shape = new long[dimensions];
            for (int i = 0; i < dimensions; i++) {
                shape[i] = in.unpackLong();
            }
            if (!in.getNextFormat().getValueType().isBinaryType()) {
                // Short text would pass for it.
                throw new ProtocolException(Code.MALFORMED, "tensor whose data is not binary");
            }
            return new Tensor(type, shape, in.readPayload(in.unpackBinaryHeader()));
        } catch (IOException | MessagePackException | ProtocolException | IllegalArgumentException error) {
            throw malformed(error);
        }
    }

    /** Checks frames on their bytes, before anything is decoded, so that a hostile one costs no more than its size. */
    private static final class FrameCheck {
        /** Levels of nesting that are read at the most, whatever the limits: each takes some of the stack. */
        private static final int DEEPEST = 500;

        private FrameCheck() {}

        /**
         * Accepts a frame if it is one MessagePack value within limits.
         *
         * @throws ProtocolException code {@code limit} or {@code malformed}
         */
        static void check(byte[] frame, Limits limits) {
            int size = frame.length;
            if (size > limits.frame()) {
                throw new ProtocolException(
                        Code.LIMIT, "frame of " + size + " bytes; at most " + limits.frame() + " are read");
            }
            int depth = (int) Math.min(limits.depth(), DEEPEST);
            // Values still to come in each open container; the outermost is the frame itself. No container
            // can be open without a byte of its own, so the stack needs no more than the frame has bytes.
            long[] left = new long[Math.min(depth, size) + 2];
            left[0] = 1;
            int open = 0;
            long position = 0;
            long elements = 0;
            while (true) {
                if (left[open] == 0) {
                    if (--open < 0) {
                        break;
                    }
                    continue;
                }
                if (position >= size) {
                    throw cut(size);
                }
                left[open]--;
                if (++elements > limits.elements()) {
                    throw new ProtocolException(Code.LIMIT, "more than " + limits.elements() + " values in a frame");
                }
                int head = frame[(int) position++] & 0xff;
                long count;
                if (head <= 0x7f || head >= 0xe0) {
                    continue;
                } else if (head <= 0x8f) {
                    count = 2L * (head & 0x0f);
                } else if (head <= 0x9f) {
                    count = head & 0x0f;
                } else if (head <= 0xbf) {
                    position += head & 0x1f;
                    continue;
                } else {
                    switch (head) {
                        case 0xc0, 0xc2, 0xc3 -> {}
                        case 0xcc, 0xd0 -> position += 1;
                        case 0xcd, 0xd1, 0xd4 -> position += 2;
                        case 0xd5 -> position += 3;
                        case 0xca, 0xce, 0xd2 -> position += 4;
                        case 0xd6 -> position += 5;
                        case 0xcb, 0xcf, 0xd3 -> position += 8;
                        case 0xd7 -> position += 9;
                        case 0xd8 -> position += 17;
                        case 0xc4, 0xd9 -> position += 1 + number(frame, position, 1);
                        case 0xc5, 0xda -> position += 2 + number(frame, position, 2);
                        case 0xc6, 0xdb -> position += 4 + number(frame, position, 4);
                        case 0xc7 -> position += 2 + number(frame, position, 1);
                        case 0xc8 -> position += 3 + number(frame, position, 2);
                        case 0xc9 -> position += 5 + number(frame, position, 4);
                        case 0xdc, 0xdd, 0xde, 0xdf -> {}
                        default -> throw new ProtocolException(
                                Code.MALFORMED, "byte 0xc1 at " + (position - 1) + " is not MessagePack");
                    }
                    if (head < 0xdc) {
                        continue;
                    }
                    int width = (head & 1) == 0 ? 2 : 4;
                    count = number(frame, position, width) * (head >= 0xde ? 2 : 1);
                    position += width;
                }
                if (count > size - position) {
                    throw new ProtocolException(
                            Code.MALFORMED, count + " values announced with " + (size - position) + " bytes to come");
                }
                if (open + 1 > depth) {
                    throw new ProtocolException(Code.LIMIT, "nested deeper than " + depth);
                }
                left[++open] = count;
            }
            if (position > size) {
                throw cut(size);
            }
            if (position < size) {
                throw new ProtocolException(
                        Code.MALFORMED, "frame of " + size + " bytes does not end at byte " + position);
            }
        }

        private static long number(byte[] frame, long position, int width) {
            if (position + width > frame.length) {
                throw cut(frame.length);
            }
            long value = 0;
            for (int i = 0; i < width; i++) {
                value = value << 8 | frame[(int) position + i] & 0xff;
            }
            return value;
        }

        private static ProtocolException cut(int size) {
            return new ProtocolException(Code.MALFORMED, "frame of " + size + " bytes ends inside a value");
        }
    }
}
