package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ValuesTest {
    private static Object again(Object value) {
        return new Decoder().decode(new Encoder().encode(value));
    }

    @Test
    void seedsAreThoseOfTheContract() {
        assertEquals(4384949654484100906L, Seeds.derive(1, "episode", 0));
        assertEquals(2741667346559110548L, Seeds.derive(7, "seat", 1));
    }

    @Test
    void aTensorHasTheBytesOfTheContract() {
        byte[] frame = new Encoder().encode(new Tensor(Tensor.Type.INT8, new long[] {2}, new byte[] {1, 2}));
        assertEquals("c70c0193a4696e74389102c4020102", HexFormat.of().formatHex(frame));
    }

    @Test
    void integersOf64BitsAreExact() {
        BigInteger largest = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        List<Object> numbers = Arrays.asList(Long.MAX_VALUE, Long.MIN_VALUE, (1L << 53) + 1, largest, -33L, 128L, 0.5);
        assertEquals(numbers, again(numbers));
        assertThrows(DovetailException.class, () -> new Encoder().encode(largest.add(BigInteger.ONE)));
    }

    @Test
    void whatCannotTravelLeavesTheEncoderUsable() {
        Encoder encoder = new Encoder();
        assertThrows(DovetailException.class, () -> encoder.encode(List.of(1L, new Object())));
        assertThrows(DovetailException.class, () -> encoder.encode("\ud800"));
        assertThrows(DovetailException.class, () -> encoder.encode(Map.of(1L, 2L)));
        assertArrayEquals(new byte[] {(byte) 0x91, 7}, encoder.encode(List.of(7L)));
    }

    @Test
    void textKeepsItsCharacters() {
        assertEquals("Dame ♛, Löwe \ud83e\udd81", again("Dame ♛, Löwe \ud83e\udd81"));
    }

    @Test
    void tensorsAreReadByElement() {
        assertEquals(-1.5, ((Tensor) again(Tensor.ofFloats(new float[] {1, -1.5f}, 2))).getDouble(1));
        assertEquals(255, ((Tensor) again(Tensor.ofBytes(new byte[] {0, -1}, 1, 2))).getLong(1));
        assertEquals(Long.MIN_VALUE, ((Tensor) again(Tensor.ofLongs(new long[] {Long.MIN_VALUE}, 1))).getLong(0));
        Tensor half = new Tensor(Tensor.Type.FLOAT16, new long[] {2}, new byte[] {0, 0x3c, 1, 0});
        assertEquals(1.0, half.getDouble(0));
        assertEquals(0x1p-24, half.getDouble(1));
        assertThrows(IllegalArgumentException.class, () -> Tensor.ofInts(new int[3], 2, 2));
    }

    @Test
    void masksAreBitsFromTheLowest() {
        assertArrayEquals(new byte[] {5, (byte) 0x80}, (byte[]) again(Legal.mask(0, 2, 15)));
        assertArrayEquals(new long[] {0, 2, 15}, Legal.read(new byte[] {5, (byte) 0x80, 0}).actions());
        assertEquals(List.of(0L, 2L, 15L), again(Legal.of(0, 2, 15)));
    }

    private final SplittableRandom random = new SplittableRandom(1);

    /** The values of so many samples of a space, as they travel. */
    private List<Object> samples(Space space, int count) {
        return Stream.generate(() -> again(Spaces.sample(space, random))).limit(count).toList();
    }

    @Test
    void samplesOfIntegersAreAllOfThem() {
        assertEquals(Set.of(-1L, 0L, 1L), Set.copyOf(samples(Space.Discrete.of(3).withStart(-1), 100)));
        assertEquals(
                Set.of(List.of(0L, 0L), List.of(0L, 1L), List.of(1L, 0L), List.of(1L, 1L)),
                Set.copyOf(samples(Space.MultiDiscrete.of(2, 2), 100)));
        assertEquals(
                Set.of(List.of(List.of(0L)), List.of(List.of(1L))),
                Set.copyOf(samples(Space.MultiBinary.of(1, 1), 100)));
        assertEquals(Set.of(true, false), Set.copyOf(samples(Space.Box.of().withDtype("bool"), 100)));
    }

    @Test
    void samplesOfABoxLieBetweenItsBounds() {
        Space.Box box = Space.Box.of(2, 2).withDtype("int8");
        List<?> low = List.of(List.of(0L, 1L), List.of(2L, 3L));
        for (Object each : samples(box.withLow(low).withHigh(List.of(List.of(0L, 1L), List.of(2L, 4L))), 100)) {
            assertTrue(low.equals(each) || List.of(List.of(0L, 1L), List.of(2L, 4L)).equals(each), each::toString);
        }
        for (Object each : samples(Space.Box.of().withDtype("int8"), 1000)) {
            assertTrue((Long) each >= -128 && (Long) each <= 127, each::toString);
        }
        for (Object each : samples(Space.Box.of().withLow(2e6).withHigh(3e6).withDtype("float64"), 100)) {
            assertTrue((Double) each >= 2e6 && (Double) each <= 3e6, each::toString);
        }
        for (Object each : samples(Space.Box.of().withHigh(-3_000_000L).withDtype("int64"), 100)) {
            assertTrue((Long) each <= -3_000_000, each::toString);
        }
        Space.Box all = Space.Box.of().withLow(Long.MIN_VALUE).withHigh(Long.MAX_VALUE).withDtype("int64");
        assertEquals(100, Set.copyOf(samples(all, 100)).size());
        for (Space empty : List.of(
                box.withDtype("int7"), box.withLow(List.of(1L)), box.withLow(0.2).withHigh(0.8), box.withLow("x"))) {
            assertThrows(DovetailException.class, () -> Spaces.sample(empty, random));
        }
    }

    @Test
    void valuesThatFitIntoNoMessageAreNotDrawn() {
        Space bits = Space.Sequence.of(Space.Discrete.of(2), 10_000).withMinLength(10_000);
        long huge = 1L << 62;
        for (Space large : List.of(
                Space.Box.of(1L << 40),
                Space.Box.of(1L << 40, 0),
                Space.Box.of(LongStream.generate(() -> 1).limit(10_000).toArray()),
                Space.MultiBinary.of(huge, 2),
                Space.Text.of(huge).withMinLength(huge),
                Space.Sequence.of(bits, 10_000).withMinLength(10_000),
                Space.Tuple.of(Collections.nCopies(1000, bits)))) {
            assertThrows(DovetailException.class, () -> Spaces.sample(large, random), large::toString);
        }
    }

    @Test
    void theTimeToCheckATextDoesNotGrowWithItsCharset() {
        String charset = IntStream.range(0x20000, 0x50000).collect(
                StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append).toString();
        Space text = Space.Text.of(Long.MAX_VALUE).withCharset(charset);
        List<String> letters = charset.codePoints().mapToObj(Character::toString).toList();
        assertTimeoutPreemptively(Duration.ofSeconds(10), () -> {
            assertTrue(Spaces.contains(text, charset));
            assertTrue(Spaces.contains(Space.Sequence.of(text, Long.MAX_VALUE), letters));
        });
    }

    @Test
    void samplesOfTextAndOfSpacesInSpaces() {
        for (Object each : samples(Space.Text.of(4).withMinLength(2).withCharset("xyz"), 100)) {
            assertTrue(((String) each).matches("[xyz]{2,4}"), each::toString);
        }
        Space.Sequence sequence = Space.Sequence.of(Space.Discrete.of(2), 3).withMinLength(1);
        assertEquals(Set.of(1, 2, 3), samples(sequence, 100).stream()
                .map(each -> ((List<?>) each).size()).collect(java.util.stream.Collectors.toSet()));
        Space both = Space.Dict.of(Map.of("a", Space.Tuple.of(List.of(Space.Discrete.of(1), Space.Text.of(0)))));
        assertEquals(List.of(Map.of("a", List.of(0L, ""))), samples(both, 1));
    }

    @Test
    void spacesComeBack() {
        Space all = Space.Dict.of(Map.of(
                "tuple",
                Space.Tuple.of(List.of(
                        Space.Discrete.of(3).withStart(-1),
                        Space.Box.of(2, 2).withLow(List.of(List.of(0L, 1L), List.of(2L, 3L))).withDtype("int8"),
                        Space.MultiBinary.of(3))),
                "multi",
                Space.MultiDiscrete.of(2, 5),
                "text",
                Space.Text.of(4).withMinLength(2).withCharset("xyz")));
        assertEquals(again(all), again(Space.of(again(all))));
        assertThrows(ProtocolException.class, () -> Space.of(Map.of("space", "Klein bottle")));
        ProtocolException error = assertThrows(ProtocolException.class,
                () -> Space.of(Map.of("space", "Tuple", "spaces", List.of(Map.of("space", "Discrete", "n", 0L)))));
        assertEquals("spaces.n must be at least 1", error.getMessage());
    }

    @Test
    void optionsSayWhatIsWrong() {
        Options options = new Options().integer("size", 3, 1, 9, "").bool("fast", false, "");
        assertEquals(3, options.read(Map.of(), "x").integer("size"));
        assertNull(new Options().any("y", null, "").read(Map.of(), "x").any("y"));
        DovetailException unknown =
                assertThrows(DovetailException.class, () -> options.read(Map.of("sise", 3L), "agent x"));
        assertEquals("agent x has no option 'sise'; it has fast, size", unknown.getMessage());
        assertThrows(DovetailException.class, () -> options.read(Map.of("size", 3.0), "x"));
        assertThrows(DovetailException.class, () -> options.read(Map.of("size", 10L), "x"));
        assertThrows(DovetailException.class, () -> options.read(Map.of("fast", 1L), "x"));
        options.choice("colour", List.of("red", "blue"), "");
        assertThrows(DovetailException.class, () -> options.read(Wire.map("colour", null), "x"));
    }
}
