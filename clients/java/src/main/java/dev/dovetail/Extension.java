package dev.dovetail;

import java.util.Arrays;
import java.util.HexFormat;

/**
 * A MessagePack extension unknown to this library, kept unchanged.
 *
 * @param code its type
 * @param data its payload
 */
public record Extension(byte code, byte[] data) {
    @Override
    public boolean equals(Object other) {
        return other instanceof Extension that && code == that.code && Arrays.equals(data, that.data);
    }

    @Override
    public int hashCode() {
        return 31 * code + Arrays.hashCode(data);
    }

    @Override
    public String toString() {
        return "Extension[" + code + ", " + HexFormat.of().formatHex(data) + "]";
    }
}
