package dev.dovetail;

import java.util.List;

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
        long highest = -1;
        for (long action : actions) {
            highest = Math.max(highest, action);
        }
        byte[] mask = new byte[(int) (highest / 8 + 1)];
        for (long action : actions) {
            mask[(int) (action >> 3)] |= (byte) (1 << (action & 7));
        }
        return mask;
    }

    /**
     * Returns the actions of a mask.
     *
     * @param mask the mask
     * @return their numbers in rising order
     */
    public static long[] unmask(byte[] mask) {
        int count = 0;
        for (byte each : mask) {
            count += Integer.bitCount(each & 0xff);
        }
        long[] actions = new long[count];
        int next = 0;
        for (int i = 0; i < mask.length; i++) {
            for (int bits = mask[i] & 0xff; bits != 0; bits &= bits - 1) {
                actions[next++] = 8L * i + Integer.numberOfTrailingZeros(bits);
            }
        }
        return actions;
    }

    /**
     * Returns all actions 0 .. {@code n - 1}.
     *
     * @param n how many
     * @return their numbers
     */
    public static long[] all(int n) {
        long[] actions = new long[n];
        for (int i = 0; i < n; i++) {
            actions[i] = i;
        }
        return actions;
    }

    /** A list or mask as it came; null for every action of the space. */
    static long[] read(Fields fields, String name) {
        Object value = fields.any(name);
        if (value == null) {
            return null;
        }
        if (value instanceof byte[] mask) {
            return unmask(mask);
        }
        if (!(value instanceof List<?> list)) {
            throw fields.invalid(name, "an array of integers, binary or nil");
        }
        long[] actions = new long[list.size()];
        for (int i = 0; i < actions.length; i++) {
            if (!(list.get(i) instanceof Long action)) {
                throw fields.invalid(name, "an array of integers, binary or nil");
            }
            actions[i] = action;
        }
        return actions;
    }
}
