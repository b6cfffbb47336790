package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.Code;
import dev.dovetail.Message.Limits;
import dev.dovetail.Message.Role;
import dev.dovetail.examples.Reading;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The codec against protocol/vectors. */
class VectorsTest {
    private static final Path VECTORS = Path.of("..", "..", "protocol", "vectors");
    private static final Set<Code> REFUSALS =
            Set.of(Code.MALFORMED, Code.LIMIT, Code.UNKNOWN_TYPE, Code.INVALID);
    private static final Set<String> ROLES = Set.of("agent", "environment", "experiment", "observer");

    @SuppressWarnings("unchecked")
    private static List<Map<String, Object>> read(String file, String key) throws IOException {
        return (List<Map<String, Object>>)
                ((Map<String, Object>) Reading.json(Files.readString(VECTORS.resolve(file)))).get(key);
    }

    private static byte[] frame(Map<String, Object> vector) {
        return HexFormat.of().parseHex((String) vector.get("hex"));
    }

    private static Role role(Map<String, Object> vector) {
        return Role.valueOf(((String) vector.get("receiver")).toUpperCase(Locale.ROOT));
    }

    private static void roundTrip(Map<String, Object> vector) {
        Object wanted = Reading.unread(vector.get("json"));
        Object found = new Decoder().decode(frame(vector));
        assertTrue(Wire.same(wanted, found), () -> Reading.of(found));
        Object again = new Decoder().decode(new Encoder().encode(found));
        assertTrue(Wire.same(found, again), () -> Reading.of(again));
        assertEquals(Reading.of(found), Reading.of(Reading.unread(Reading.json(Reading.of(found)))));
    }

    private static Object again(Message message) {
        return new Decoder().decode(new Encoder().encode(message));
    }

    /** Decodes a peer's frame with every record that accepts it. */
    private static List<Object> readByAnyRecord(byte[] frame) throws ReflectiveOperationException {
        List<Object> found = new ArrayList<>();
        for (Class<?> each : Message.class.getPermittedSubclasses()) {
            try {
                Method read = each.getDeclaredMethod("read", Object.class);
                found.add(again((Message) read.invoke(null, new Decoder().decode(frame))));
            } catch (InvocationTargetException error) {
                assertInstanceOf(ProtocolException.class, error.getCause());
            }
        }
        return found;
    }

    @TestFactory
    Stream<DynamicTest> messages() throws IOException {
        return read("valid.json", "messages").stream()
                .map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> {
                    roundTrip(each);
                    List<Object> records = ROLES.contains(each.get("receiver"))
                            ? List.of(again(Message.read(role(each), new Decoder().message(frame(each)))))
                            : readByAnyRecord(frame(each));
                    Object wanted = new Decoder().decode(frame(each));
                    assertTrue(records.stream().anyMatch(found -> Wire.same(wanted, found)), records::toString);
                }));
    }

    @TestFactory
    Stream<DynamicTest> values() throws IOException {
        return read("valid.json", "values").stream()
                .map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> roundTrip(each)));
    }

    @TestFactory
    Stream<DynamicTest> malformed() throws IOException {
        return read("malformed.json", "malformed").stream()
                .filter(each -> ROLES.contains(each.get("receiver")))
                .map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> {
                    Decoder decoder = decoder(each);
                    ProtocolException error = assertThrows(
                            ProtocolException.class, () -> Message.read(role(each), decoder.message(frame(each))));
                    assertEquals(each.get("code"), error.code().toWire(), error.getMessage());
                }));
    }

    /** Malformed bytes are malformed for every receiver. */
    @TestFactory
    Stream<DynamicTest> malformedAtTheBroker() throws IOException {
        return read("malformed.json", "malformed").stream()
                .filter(each -> each.get("receiver").equals("broker"))
                .filter(each -> Set.of("malformed", "limit").contains(each.get("code")))
                .map(each -> DynamicTest.dynamicTest((String) each.get("name"), () -> {
                    ProtocolException error =
                            assertThrows(ProtocolException.class, () -> decoder(each).message(frame(each)));
                    assertEquals(each.get("code"), error.code().toWire(), error.getMessage());
                }));
    }

    @Test
    void whatASpaceContains() throws IOException {
        List<Map<String, Object>> members = read("members.json", "members");
        assertTrue(members.size() > 200);
        SplittableRandom random = new SplittableRandom(1);
        for (Map<String, Object> each : members) {
            Space space = Space.of(new Decoder().decode(HexFormat.of().parseHex((String) each.get("space_hex"))));
            Object value = new Decoder().decode(HexFormat.of().parseHex((String) each.get("value_hex")));
            assertEquals(each.get("member"), Spaces.contains(space, value), each::toString);
            if (each.get("member").equals(true)) {
                assertTrue(Spaces.contains(space, Spaces.sample(space, random)), each::toString);
            }
        }
    }

    /** Whatever a frame is: it is read, or refused as SPEC.md says, and nothing worse. */
    @Test
    void damagedFramesAreReadOrRefused() throws IOException {
        SplittableRandom random = new SplittableRandom(1);
        Decoder decoder = new Decoder();
        for (Map<String, Object> each : read("valid.json", "messages")) {
            for (int i = 0; i < 300; i++) {
                byte[] frame = frame(each);
                for (int k = random.nextInt(3); k >= 0; k--) {
                    frame[random.nextInt(frame.length)] = (byte) random.nextInt(256);
                }
                if (random.nextInt(4) == 0) {
                    frame = Arrays.copyOf(frame, random.nextInt(frame.length));
                }
                Role role = ROLES.contains(each.get("receiver")) ? role(each) : Role.AGENT;
                try {
                    Message.read(role, decoder.message(frame));
                } catch (ProtocolException error) {
                    assertTrue(REFUSALS.contains(error.code()));
                }
            }
        }
    }

    private static Decoder decoder(Map<String, Object> vector) {
        Decoder decoder = new Decoder();
        if (vector.get("limits") instanceof Map<?, ?> limits) {
            decoder.limit(Limits.of()
                    .withFrame((Long) limits.get("frame"))
                    .withDepth((Long) limits.get("depth"))
                    .withElements((Long) limits.get("elements")));
        }
        return decoder;
    }
}
