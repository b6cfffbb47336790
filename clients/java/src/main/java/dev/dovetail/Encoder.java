package dev.dovetail;

import dev.dovetail.Message.Limits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Values to bytes. Not for several threads at once. */
public final class Encoder {
    private static final int DEEPEST = 512;

    // A buffer of the usual 8 KiB would be allocated for every message.
    private final MessageBufferPacker packer =
            new MessagePack.PackerConfig().withBufferSize(1024).newBufferPacker();
    private int depth;
    private long largest = Limits.of().frame();

    /** A value that has no form on the wire, or too large a one. */
    static final class CannotTravel extends DovetailException {
        private static final long serialVersionUID = 1L;

        CannotTravel(String message) {
            super(message);
        }
    }

    /**
     * Returns the bytes of any value that can travel.
     *
     * @param value null, Boolean, Number, String, byte[], List, Map, int[], long[], double[], Tensor, Extension or
     *     Encodable
     * @return the frame
     * @throws DovetailException if it cannot travel
     */
    public byte[] encode(Object value) {
        packer.clear();
        depth = 0;
        try {
            write(value);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return packer.toByteArray();
    }

    /** Sets how many bytes of a message the broker reads. */
    void limit(long largest) {
        this.largest = largest;
    }

    /** Returns the frame of a message; one that is too large would cost the connection, whenever it is sent. */
    byte[] message(Encodable message) {
        byte[] frame = encode(message);
        if (frame.length > largest) {
            throw new CannotTravel(frame.length + " bytes in a message; the broker reads " + largest);
        }
        return frame;
    }

    private void write(Object value) throws IOException {
        if (value == null) {
            packer.packNil();
        } else if (value instanceof Long
                || value instanceof Integer
                || value instanceof Short
                || value instanceof Byte) {
            packer.packLong(((Number) value).longValue());
        } else if (value instanceof Double || value instanceof Float) {
            packer.packDouble(((Number) value).doubleValue());
        } else if (value instanceof Boolean truth) {
            packer.packBoolean(truth);
        } else if (value instanceof String text) {
            text(text);
        } else if (value instanceof Encodable encodable) {
            write(encodable.toWire());
        } else if (value instanceof List<?> list) {
            deeper();
            packer.packArrayHeader(list.size());
            for (Object each : list) {
                write(each);
            }
            depth--;
        } else if (value instanceof Map<?, ?> map) {
            deeper();
            packer.packMapHeader(map.size());
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                if (!(entry.getKey() instanceof String key)) {
                    throw new CannotTravel("a map travels with keys of text only, not " + entry.getKey());
                }
                text(key);
                write(entry.getValue());
            }
            depth--;
        } else if (value instanceof byte[] bytes) {
            packer.packBinaryHeader(bytes.length);
            packer.writePayload(bytes);
        } else if (value instanceof Tensor tensor) {
            tensor(tensor);
        } else if (value instanceof BigInteger number) {
            if (number.signum() < 0 ? number.bitLength() > 63 : number.bitLength() > 64) {
                throw new CannotTravel("an integer beyond 64 bits cannot travel");
            }
            packer.packBigInteger(number);
        } else if (value instanceof long[] numbers) {
            packer.packArrayHeader(numbers.length);
            for (long each : numbers) {
                packer.packLong(each);
            }
        } else if (value instanceof int[] numbers) {
            packer.packArrayHeader(numbers.length);
            for (int each : numbers) {
                packer.packInt(each);
            }
        } else if (value instanceof double[] numbers) {
            packer.packArrayHeader(numbers.length);
            for (double each : numbers) {
                packer.packDouble(each);
            }
        } else if (value instanceof Extension extension) {
            packer.packExtensionTypeHeader(extension.code(), extension.data().length);
            packer.writePayload(extension.data());
        } else {
            throw new CannotTravel("a " + value.getClass().getSimpleName()
                    + " cannot travel; use numbers, text, lists, maps or tensors");
        }
    }

    private void deeper() {
        if (++depth > DEEPEST) {
            throw new CannotTravel("lists and maps nested deeper than " + DEEPEST + " cannot travel");
        }
    }

    private void text(String text) throws IOException {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i)) && !Character.isSupplementaryCodePoint(text.codePointAt(i++))) {
                throw new CannotTravel("a text with half a surrogate pair cannot travel");
            }
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        packer.packRawStringHeader(bytes.length);
        packer.writePayload(bytes);
    }

    private void tensor(Tensor tensor) throws IOException {
        // The payload's length must be known before it is written: the headers are small, so make them first.
        byte[] head;
        try (MessageBufferPacker out = new MessagePack.PackerConfig().withBufferSize(64).newBufferPacker()) {
            out.packArrayHeader(3);
            out.packString(tensor.type().dtype());
            out.packArrayHeader(tensor.dimensions());
            for (int i = 0; i < tensor.dimensions(); i++) {
                out.packLong(tensor.length(i));
            }
            out.packBinaryHeader(tensor.data().length);
            head = out.toByteArray();
        }
        packer.packExtensionTypeHeader((byte) 1, head.length + tensor.data().length);
        packer.writePayload(head);
        packer.writePayload(tensor.data());
    }
}
