package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
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
        assertArrayEquals(new byte[] {5, (byte) 0x80}, Legal.mask(0, 2, 15));
        assertArrayEquals(new long[] {0, 2, 15}, Legal.unmask(new byte[] {5, (byte) 0x80, 0}));
    }

    @Test
    void spacesKnowTheirValues() {
        Space die = new Space.Discrete(6, 1);
        assertTrue(die.contains(6L));
        assertFalse(die.contains(0L));
        assertFalse(die.contains(3.0));
        assertFalse(die.contains(true));
        Space box = new Space.Box(List.of(2L), 0L, 1L, "float32");
        assertTrue(box.contains(Tensor.ofFloats(new float[] {0, 1}, 2)));
        assertFalse(box.contains(Tensor.ofDoubles(new double[] {0, 1}, 2)));
        assertFalse(box.contains(List.of(0.0, Double.NaN)));
        assertTrue(new Space.MultiBinary(List.of(1L, 2L)).contains(List.of(List.of(0L, 1L))));
        assertFalse(new Space.Text(3, 1, "ab").contains("abc"));
    }

    @Test
    void samplesAreInTheirSpaceAndSpacesComeBack() {
        Space all = new Space.Dict(Map.of(
                "tuple",
                new Space.Tuple(List.of(
                        new Space.Discrete(3, -1),
                        new Space.Box(List.of(2L, 2L), List.of(List.of(0L, 1L), List.of(2L, 3L)), 4L, "int8"),
                        new Space.Box(List.of(3L), Double.NEGATIVE_INFINITY, Double.POSITIVE_INFINITY, "int8"),
                        new Space.Box(List.of(), -1.0, Double.POSITIVE_INFINITY, "float64"),
                        new Space.Box(List.of(), 2e6, 3e6, "float64"),
                        new Space.Box(List.of(), Double.NEGATIVE_INFINITY, -3_000_000L, "int64"),
                        new Space.Box(List.of(), Long.MIN_VALUE, Long.MAX_VALUE, "int64"))),
                "multi",
                new Space.MultiDiscrete(List.of(2L, 5L)),
                "text",
                new Space.Text(4, 2, "xyz")));
        assertEquals(all, Space.of(again(all)));
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 100; i++) {
            assertTrue(all.contains(again(all.sample(random))));
        }
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
