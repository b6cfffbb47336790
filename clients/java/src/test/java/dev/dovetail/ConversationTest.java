package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.Catalogue;
import dev.dovetail.Message.Load;
import dev.dovetail.Message.Reply;
import dev.dovetail.Message.Role;
import dev.dovetail.Message.Save;
import dev.dovetail.Message.Watch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConversationTest {
    private final List<Message> events = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private final Conversation conversation = new Conversation(events::add, problems::add);
    private final List<byte[]> out = new ArrayList<>();

    private void hear(byte[]... frames) {
        out.clear();
        conversation.take(
                Arrays.stream(frames).map(each -> Message.read(Role.EXPERIMENT, new Decoder().message(each))).toList(),
                out);
    }

    /** A result whose frame has the episode's number. */
    private static byte[] episode(long number) {
        return Wire.frame("episode", "seq", number, "run", 1L, "index", 0L, "episode", number, "seed", 3L,
                "reason", "terminated", "seats", List.of());
    }

    private static Map<String, Object> load(int bytes) {
        return Load.of(0, 4).withState(new byte[bytes]).toWire();
    }

    @Test
    void aReplyBelongsToItsRequest() {
        hear(Wire.welcome(false));
        long first = conversation.ask(Catalogue.of(0).toWire(), out);
        long second = conversation.ask(Watch.of(0).toWire(), out);
        hear(Wire.frame("reply", "id", 99L), Wire.frame("reply", "id", second, "body", 5L));
        assertNull(conversation.answer(first));
        assertEquals(5L, ((Reply) conversation.answer(second)).body());
    }

    @Test
    void openRequestsAreSentAgainAfterAResumption() {
        hear(Wire.welcome(false));
        long answered = conversation.ask(Catalogue.of(0).toWire(), out);
        conversation.ask(Save.of(0, 4).toWire(), out);
        byte[] frame = out.get(1);
        hear(Wire.frame("reply", "id", answered));
        conversation.answer(answered);
        hear(Wire.welcome(true));
        assertEquals(List.of(frame), out);
        assertFalse(conversation.lost());
        hear(Wire.welcome(false));
        assertTrue(conversation.lost());
    }

    @Test
    void aRequestLargerThanTheBrokerReadsIsNotBegun() {
        hear(Wire.narrowed());
        assertThrows(DovetailException.class, () -> conversation.ask(load(1000), out));
        conversation.ask(load(100), out);
        assertEquals(1, out.size());
        byte[] small = out.get(0);
        hear(Wire.narrowed());
        assertEquals(List.of(small), out);
    }

    @Test
    void aResultIsHeardOnceInASession() {
        hear(Wire.welcome(false));
        byte[] done = Wire.frame("done", "run", 1L, "finished", 2L, "seq", 9L);
        hear(episode(5), episode(5), episode(6), Wire.frame("ping", "settled", 5L), done);
        hear(Wire.welcome(true), episode(6), done);
        assertEquals(3, events.size());
        hear(Wire.welcome(false), episode(5));
        assertEquals(4, events.size());
    }

    @Test
    void complaintsAreKept() {
        hear(Wire.frame("error", "code", "journal", "message", "the disk is full"));
        assertEquals(List.of("the disk is full"), problems);
    }
}
