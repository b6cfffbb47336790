package dev.dovetail;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Draws values of spaces, and says which they have. */
public final class Spaces {
    /** Elements of the largest value that is drawn; more do not fit into a message. */
    private static final double LARGEST = 1 << 20;
    /** How much longer than necessary a text or sequence is at most. */
    private static final int SPREAD = 16;
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

    private Spaces() {}

    /**
     * Draws a value of a space.
     *
     * @param space the space
     * @param random where from
     * @return a value, in the form in which it travels
     * @throws DovetailException if the space contains nothing, or its values are too large
     */
    public static Object sample(Space space, RandomGenerator random) {
        if (size(space) > LARGEST) {
            throw new DovetailException("values of over " + (long) LARGEST + " elements cannot be drawn");
        }
        return draw(space, random);
    }

    /** How many elements a value that is drawn has at most; a double, since it may be any number. */
    private static double size(Space space) {
        if (space instanceof Space.Box box) {
            return size(box.shape());
        } else if (space instanceof Space.MultiDiscrete discrete) {
            return discrete.nvec().length;
        } else if (space instanceof Space.MultiBinary binary) {
            return size(binary.shape());
        } else if (space instanceof Space.Text text) {
            return 1 + longest(text.minLength(), text.maxLength());
        } else if (space instanceof Space.Tuple tuple) {
            return 1 + tuple.spaces().stream().mapToDouble(Spaces::size).sum();
        } else if (space instanceof Space.Sequence sequence) {
            return 1 + longest(sequence.minLength(), sequence.maxLength()) * size(sequence.element());
        } else if (space instanceof Space.Dict dict) {
            return 1 + dict.spaces().values().stream().mapToDouble(Spaces::size).sum();
        }
        return 1;
    }

    /** How many elements, or empty rows, an array has; infinitely many if it has too many dimensions. */
    private static double size(long[] shape) {
        return shape.length > 32 ? Double.POSITIVE_INFINITY
                : Arrays.stream(shape).mapToDouble(length -> Math.max(length, 1)).reduce(1, (a, b) -> a * b);
    }

    private static double longest(long least, long most) {
        return (double) least + Math.max(0, Math.min(most - least, SPREAD));
    }

    private static Object draw(Space space, RandomGenerator random) {
        if (space instanceof Space.Discrete discrete) {
            return discrete.start() + random.nextLong(discrete.n());
        } else if (space instanceof Space.Box box) {
            return new BoxSampler(box, random).sample();
        } else if (space instanceof Space.MultiDiscrete discrete) {
            List<Object> values = new ArrayList<>();
            for (long each : discrete.nvec()) {
                values.add(random.nextLong(each));
            }
            return values;
        } else if (space instanceof Space.MultiBinary binary) {
            return nested(binary.shape(), 0, () -> (long) random.nextInt(2));
        } else if (space instanceof Space.Text text) {
            return text(text, random);
        } else if (space instanceof Space.Tuple tuple) {
            return tuple.spaces().stream().map(each -> draw(each, random)).toList();
        } else if (space instanceof Space.Sequence sequence) {
            long length = length(sequence.minLength(), sequence.maxLength(), random);
            return Stream.generate(() -> draw(sequence.element(), random)).limit(length).toList();
        } else if (space instanceof Space.Dict dict) {
            Map<String, Object> values = new LinkedHashMap<>();
            dict.spaces().forEach((key, each) -> values.put(key, draw(each, random)));
            return values;
        }
        throw new DovetailException("this library draws nothing from a " + space.getClass().getSimpleName());
    }

    /**
     * True if a space has a value, in the form in which it travels (SPEC.md, S8.1).
     *
     * @param space the space
     * @param value such as {@link #sample} returns, or as it was received
     * @return whether it is one of the space's
     */
    public static boolean contains(Space space, Object value) {
        return Membership.contains(space, value);
    }

    /** Draws a length, not much above the least. */
    private static long length(long least, long most, RandomGenerator random) {
        return least + random.nextLong(Math.max(1, Math.min(most - least, SPREAD) + 1));
    }

    private static String text(Space.Text space, RandomGenerator random) {
        String charset = space.charset();
        int[] from = (charset == null || charset.isEmpty() ? LETTERS : charset).codePoints().toArray();
        long most = charset != null && charset.isEmpty() ? 0 : space.maxLength();
        long length = length(space.minLength(), most, random);
        StringBuilder text = new StringBuilder();
        for (long i = 0; i < length; i++) {
            text.appendCodePoint(from[random.nextInt(from.length)]);
        }
        return text.toString();
    }

    /** Makes one element of an array; called in row-major order. */
    private interface Element {
        Object next();
    }

    private static Object nested(long[] shape, int dimension, Element element) {
        if (dimension == shape.length) {
            return element.next();
        }
        List<Object> list = new ArrayList<>();
        for (long i = 0; i < shape[dimension]; i++) {
            list.add(nested(shape, dimension + 1, element));
        }
        return list;
    }

    /** Draws the elements of a Box, each between its bounds. */
    private static final class BoxSampler {
        private final Space.Box box;
        private final RandomGenerator random;
        private final Tensor.Type type;
        private final List<Double> low = new ArrayList<>();
        private final List<Double> high = new ArrayList<>();
        private int place;

        BoxSampler(Space.Box box, RandomGenerator random) {
            this.box = box;
            this.random = random;
            type = Tensor.Type.of(box.dtype());
            if (type == null) {
                throw new DovetailException("a Box of the unknown dtype '" + box.dtype() + "' contains nothing");
            }
            bound(box.low(), 0, low);
            bound(box.high(), 0, high);
        }

        /** Flattens a bound; a number is the bound of everything below it. */
        private void bound(Object bound, int dimension, List<Double> into) {
            long[] shape = box.shape();
            if (dimension == shape.length && bound instanceof Number number) {
                into.add(number.doubleValue());
            } else if (dimension < shape.length
                    && (bound instanceof Number || bound instanceof List<?> list && list.size() == shape[dimension])) {
                for (int i = 0; i < shape[dimension]; i++) {
                    bound(bound instanceof List<?> list ? list.get(i) : bound, dimension + 1, into);
                }
            } else {
                throw new DovetailException("a Box whose bounds do not fit its shape contains nothing");
            }
        }

        Object sample() {
            return nested(box.shape(), 0, this::element);
        }

        private Object element() {
            double least = low.get(place);
            double most = high.get(place++);
            double from = Math.max(least, Math.min(-1e6, most - 1)); // nothing is drawn between infinite bounds
            double to = Math.min(most, Math.max(1e6, least + 1));
            if (type.isFloat()) {
                return from + (to - from) * random.nextDouble();
            }
            boolean signed = type.dtype().startsWith("i");
            double smallest = signed ? -Math.scalb(1.0, 8 * type.bytes() - 1) : 0;
            double largest = type == Tensor.Type.BOOL ? 1 : Math.scalb(1.0, 8 * type.bytes() - (signed ? 1 : 0)) - 1;
            double lowest = Math.ceil(Math.max(from, smallest));
            double highest = Math.floor(Math.min(to, largest));
            if (highest < lowest) {
                throw new DovetailException("a Box without a number between its bounds contains nothing");
            }
            long value = (long) lowest + random.nextLong((long) (highest - lowest) + 1);
            return type == Tensor.Type.BOOL ? (Object) (value != 0) : (Object) value;
        }
    }
}
