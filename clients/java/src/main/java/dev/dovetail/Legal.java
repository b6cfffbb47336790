package dev.dovetail;

import java.util.Arrays;
import java.util.BitSet;

/** Legal actions by number. They travel as a list, or as a mask with bit {@code a % 8} of byte {@code a / 8} set. */
public final class Legal implements Encodable {
    /** Null as long as the numbers of a mask were not asked for. */
    private long[] actions;

    private final byte[] mask;

    private Legal(long[] actions, byte[] mask) {
        this.actions = actions;
        this.mask = mask;
    }

    /**
     * Returns legal actions that travel as a list.
     *
     * @param actions their numbers in rising order
     * @return the legal actions
     */
    public static Legal of(long... actions) {
        return new Legal(actions, null);
    }

    /**
     * Returns legal actions that travel as a mask, which is smaller where most of many actions are legal.
     *
     * @param actions their numbers in rising order
     * @return the legal actions
     */
    public static Legal mask(long... actions) {
        BitSet bits = new BitSet();
        Arrays.stream(actions).forEach(each -> bits.set(Math.toIntExact(each)));
        return new Legal(actions, bits.toByteArray());
    }

    /** {@return the action numbers in rising order; not to be changed} */
    public long[] actions() {
        if (actions == null) {
            actions = BitSet.valueOf(mask).stream().asLongStream().toArray();
        }
        return actions;
    }

    @Override
    public Object toWire() {
        return mask == null ? actions : mask;
    }

    static Legal read(Object value) {
        if (value instanceof byte[] mask) {
            return new Legal(null, mask);
        }
        return value == null ? null : of(Reader.INTEGERS.read(value));
    }
}
