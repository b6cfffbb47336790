package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.Leave;
import dev.dovetail.Message.Role;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SessionTest {
    private static final long SECOND = 1_000_000_000L;

    private final Session session = new Session(Role.AGENT, "me", List.of(), "secret");
    private final List<Message> messages = new ArrayList<>();
    private final List<byte[]> answers = new ArrayList<>();

    private void hear(long now, byte[]... frames) {
        messages.clear();
        answers.clear();
        session.receive(Arrays.asList(frames), now, messages, answers);
    }

    @Test
    void helloSaysWhoAndLaterAsksForTheSession() {
        Map<String, Object> hello = Wire.open(session.greet(0));
        assertEquals("hello", hello.get("type"));
        assertEquals(1L, hello.get("version"));
        assertEquals("agent", hello.get("role"));
        assertEquals("secret", hello.get("token"));
        assertNull(hello.get("resume"));
        hear(1, Wire.welcome(false), Wire.frame("leave", "match", 3L, "seq", 7L));
        hello = Wire.open(session.greet(2));
        assertEquals(session.welcome().session(), hello.get("resume"));
        assertEquals(7L, hello.get("seen"));
        assertEquals("me", hello.get("name"), "not the name that the broker chose");
        hear(3, Wire.welcome(false));
        assertEquals(0L, Wire.open(session.greet(4)).getOrDefault("seen", 0L));
    }

    @Test
    void pingsAreAnsweredWithTheirNumberAndWhatArrived() {
        BigInteger large = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        byte[] leave = Wire.frame("leave", "match", 3L, "seq", 5L);
        hear(1, Wire.frame("ping", "number", 7L), leave, Wire.frame("ping", "number", large));
        assertEquals(7L, Wire.open(answers.get(0)).get("number"));
        assertEquals(large, Wire.open(answers.get(1)).get("number"));
        assertEquals(5L, Wire.open(answers.get(1)).get("seen"));
    }

    @Test
    void aBadFrameCostsNothingButAnError() {
        byte[] good = Wire.frame("leave", "match", 3L);
        hear(1, new byte[] {(byte) 0xc1}, Wire.frame("nonsense"), Wire.frame("leave"), good);
        assertEquals(List.of("malformed", "unknown-type", "invalid"),
                answers.stream().map(each -> Wire.open(each).get("code")).toList());
        assertEquals(List.of(Leave.of(3)), messages);
    }

    @Test
    void aComplaintNamesWhatItAnswersAsFarAsThatCanBeRead() {
        byte[] tensor = Wire.frame("message", "id", 9L, "seq", 4L, "body", new Extension((byte) 1, new byte[] {1}));
        byte[] cut = Arrays.copyOf(Wire.frame("step", "seq", 300L, "episode", 1L), 20);
        hear(1, tensor, Wire.frame("step", "seq", 6L), cut, Wire.frame("reply", "id", "x", "seq", 7L));
        assertEquals(9L, Wire.open(answers.get(0)).get("id"));
        assertNull(Wire.open(answers.get(0)).get("answers"));
        assertEquals(6L, Wire.open(answers.get(1)).get("answers"));
        assertEquals("malformed", Wire.open(answers.get(2)).get("code"));
        assertEquals(300L, Wire.open(answers.get(2)).get("answers"));
        assertNull(Wire.open(answers.get(3)).get("answers"), "an answer asks for nothing");
    }

    @Test
    void aWelcomeThatComesTwiceIsOne() {
        byte[] welcome = Wire.welcome(false);
        hear(1, welcome, welcome);
        assertEquals(1, messages.size());
        assertEquals(0, session.lost());
    }

    @Test
    void aComplaintIsShortAndCanTravel() {
        hear(1, Wire.frame("x" + "\ud83e\udd81".repeat(1000)));
        assertTrue(((String) Wire.open(answers.get(0)).get("message")).length() <= 300);
    }

    @Test
    void errorsAreNotAnswered() {
        hear(1, Wire.frame("error", "code", "from-a-later-version", "message", "?"));
        assertEquals(1, messages.size());
        assertTrue(answers.isEmpty());
    }

    @Test
    void helloFirstIsAnsweredOnce() {
        session.greet(0);
        hear(1, Wire.welcome(false));
        byte[] error = Wire.frame("error", "code", "hello-first", "message", "say hello");
        hear(2, error, error);
        assertEquals(1, answers.size());
        assertEquals(session.welcome().session(), Wire.open(answers.get(0)).get("resume"));
    }

    @Test
    void refusalsAreFinalOnlyInAnswerToHello() {
        byte[] error = Wire.frame("error", "code", "name-taken", "message", "choose another name");
        session.greet(0);
        DovetailException refused = assertThrows(DovetailException.class, () -> hear(1, error));
        assertEquals("the broker refuses: choose another name", refused.getMessage());
        hear(1, Wire.welcome(false));
        hear(2, error);
        assertEquals(1, messages.size());
    }

    @Test
    void aPeerWhoseKeyIsRevokedHearsWhy() {
        hear(1, Wire.welcome(false));
        hear(2, Wire.frame("error", "code", "access", "message", "not yours", "id", 3L));
        assertEquals(1, messages.size());
        byte[] error = Wire.frame("error", "code", "access", "message", "the key was revoked");
        DovetailException refused =
                assertThrows(DovetailException.class, () -> hear(3, error, Wire.frame("bye", "reason", "revoked")));
        assertEquals("the broker refuses: the key was revoked", refused.getMessage());
    }

    @Test
    void helloIsSaidAgainAfterLongerAndLongerWaits() {
        long said = 0;
        for (long wait : new long[] {4, 8, 16, 16}) {
            session.greet(said);
            said += wait * SECOND;
            assertFalse(session.silent(said));
            assertTrue(session.silent(++said));
        }
    }

    @Test
    void silenceIsMeasuredInHeartbeats() {
        session.greet(0);
        hear(SECOND, Wire.welcome(false)); // a heartbeat of 1 s
        assertFalse(session.silent(5 * SECOND));
        assertTrue(session.silent(5 * SECOND + 1));
        hear(5 * SECOND, Wire.frame("ping"));
        assertFalse(session.silent(9 * SECOND));
    }

    @Test
    void lostSessionsAreCounted() {
        hear(1, Wire.welcome(false));
        hear(2, Wire.welcome(true));
        assertEquals(0, session.lost());
        hear(3, Wire.welcome(false));
        assertEquals(1, session.lost());
    }

    @Test
    void byeEndsTheSession() {
        hear(1, Wire.welcome(false), Wire.frame("bye", "reason", "closing time"));
        assertTrue(session.departed());
        assertTrue(answers.isEmpty());
    }
}
