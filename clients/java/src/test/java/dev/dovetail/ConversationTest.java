package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConversationTest {
    private final List<Event> events = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private final Conversation conversation = new Conversation(events::add, problems::add);
    private final List<byte[]> out = new ArrayList<>();

    private void hear(byte[]... frames) {
        out.clear();
        conversation.take(
                Arrays.stream(frames).map(each -> Incoming.read(Role.EXPERIMENT, new Decoder().message(each))).toList(),
                out);
    }

    private static byte[] episode(long number) {
        return Wire.frame("episode", "run", 1L, "index", 0L, "episode", number, "seed", 3L, "reason", "terminated",
                "seats", List.of());
    }

    @Test
    void aReplyBelongsToItsRequest() {
        hear(Wire.welcome(false));
        long first = conversation.ask("catalogue", Map.of(), out);
        long second = conversation.ask("watch", Map.of(), out);
        hear(Wire.frame("reply", "id", 99L), Wire.frame("reply", "id", second, "body", 5L));
        assertNull(conversation.answer(first));
        assertEquals(5L, ((Incoming.Reply) conversation.answer(second)).body());
    }

    @Test
    void openRequestsAreSentAgainAfterAResumption() {
        hear(Wire.welcome(false));
        long answered = conversation.ask("catalogue", Map.of(), out);
        conversation.ask("save", Map.of("instance", 4L), out);
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
        Map<String, Object> large = Map.of("instance", 4L, "state", new byte[1000]);
        assertThrows(DovetailException.class, () -> conversation.ask("load", large, out));
        conversation.ask("load", Map.of("instance", 4L, "state", new byte[100]), out);
        assertEquals(1, out.size());
        byte[] small = out.get(0);
        hear(Wire.narrowed());
        assertEquals(List.of(small), out);
    }

    @Test
    void aResultIsToldOnce() {
        for (long before = 100; before < 70_000; before++) {
            hear(episode(before));
        }
        events.clear();
        byte[] done = Wire.frame("done", "run", 1L, "finished", 2L);
        hear(episode(5), episode(5), episode(6), done);
        hear(episode(6), done);
        assertEquals(3, events.size());
    }

    @Test
    void complaintsAreKept() {
        hear(Wire.frame("error", "code", "journal", "message", "the disk is full"));
        assertEquals(List.of("the disk is full"), problems);
    }
}
