package dev.dovetail;

import java.util.Arrays;
import java.util.BitSet;

/** Legal actions as numbers and as a bit mask: action {@code a} is bit {@code a mod 8} of byte {@code a div 8}. */
public final class Legal {
    private Legal() {}

    /**
     * Returns the mask of some actions.
     *
     * @param actions their numbers
     * @return the mask
     */
    public static byte[] mask(long... actions) {
        BitSet mask = new BitSet();
        Arrays.stream(actions).forEach(each -> mask.set(Math.toIntExact(each)));
        return mask.toByteArray();
    }

    /**
     * Returns the actions of a mask.
     *
     * @param mask the mask
     * @return their numbers in rising order
     */
    public static long[] unmask(byte[] mask) {
        return BitSet.valueOf(mask).stream().asLongStream().toArray();
    }

    /** A list or mask as it came; null for every action of the space. */
    static long[] read(Fields fields, String name) {
        if (fields.any(name) instanceof byte[] mask) {
            return unmask(mask);
        }
        return fields.any(name) == null ? null : fields.longs(name);
    }
}
