package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.End;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What comes twice is answered twice and done once. */
class AgentHostTest {
    private final List<String> heard = new ArrayList<>();

    private final class Listener implements Agent {
        @Override
        public void init(Seat seat) {
            heard.add("init " + seat.match() + " " + seat.seat());
        }

        @Override
        public Object step(Decision decision) {
            heard.add("step " + decision.turn());
            if (decision.observation() instanceof String word) {
                return switch (word) {
                    case "crash" -> throw new IllegalStateException("told to");
                    case "link" -> throw new NoClassDefFoundError("half a pair: \ud800");
                    case "strange" -> new Object();
                    case "large" -> "x".repeat(1000);
                    case "ask" -> Lookahead.after(decision.legal(), positions -> {
                        heard.add("told " + positions.size());
                        return positions.get(1).rewards()[0] > 0 ? 1L : 0L;
                    });
                    default -> decision.sample();
                };
            }
            return decision.legal()[0];
        }

        @Override
        public void end(End end) {
            heard.add("end " + end.reason().toWire());
        }

        @Override
        public Object message(Object body) {
            heard.add("message");
            return body;
        }

        @Override
        public void cleanup() {
            heard.add("cleanup");
        }
    }

    private final Wire.Program program =
            new Wire.Program(new AgentHost(List.of(AgentType.of("listener", Listener::new))));

    private static byte[] start(long episode, long turn, Object observation) {
        return Wire.frame("start", "episode", episode, "match", 5L, "seat", 0L, "turn", turn, "seed", 9L,
                "observation", observation, "legal", List.of(0L, 1L));
    }

    private static byte[] step(long episode, long turn, Object observation) {
        return Wire.frame("step", "episode", episode, "seat", 0L, "turn", turn,
                "observation", observation, "legal", List.of(0L, 1L));
    }

    private static byte[] init(long instance) {
        Map<String, Object> spec = Wire.map("seats", 1L, "action_spaces", List.of(Space.Discrete.of(2)));
        return Wire.frame("init", "match", 5L, "seat", 0L, "instance", instance, "spec", spec);
    }

    private void seated() {
        assertEquals("reply", program.ask(create(1, 3)).get("type"));
        assertTrue(program.hear(init(3)).isEmpty());
        heard.clear();
    }

    private static byte[] create(long id, long instance) {
        return Wire.frame("create", "id", id, "instance", instance, "agent", "listener");
    }

    @Test
    void aDecisionIsMadeOnce() {
        seated();
        Map<String, Object> first = program.ask(start(8, 0, 0L));
        assertEquals(Wire.map("type", "action", "episode", 8L, "turn", 0L, "seat", 0L, "action", 0L), first);
        assertEquals(first, program.ask(start(8, 0, 0L)));
        Map<String, Object> second = program.ask(step(8, 4, "draw"));
        assertEquals(second, program.ask(step(8, 4, "draw")));
        assertTrue(program.hear(start(8, 0, 0L)).isEmpty());
        assertEquals(List.of("step 0", "step 4"), heard);
    }

    @Test
    void anEndIsHeardOnceAndNothingComesAfterIt() {
        seated();
        byte[] end = Wire.frame("end", "episode", 8L, "seat", 0L, "match", 5L);
        program.hear(start(8, 0, 0L), end, end, start(8, 0, 0L), step(8, 1, 0L));
        assertEquals(List.of("step 0", "end terminated"), heard);
    }

    @Test
    void anEndWithoutADecisionIsHeard() {
        seated();
        program.hear(Wire.frame("end", "episode", 8L, "seat", 0L, "match", 5L, "reason", "truncated"));
        assertEquals(List.of("end truncated"), heard);
    }

    @Test
    void requestsAreDoneOnce() {
        seated();
        byte[] message = Wire.frame("message", "id", 4L, "instance", 3L, "body", List.of(1L, "two"));
        Map<String, Object> reply = program.ask(message);
        assertEquals(List.of(1L, "two"), reply.get("body"));
        assertEquals(reply, program.ask(message));
        assertEquals(List.of("message"), heard);
    }

    @Test
    void anInitIsHeardOnceButASeatChangesHands() {
        seated();
        program.hear(init(3));
        assertTrue(heard.isEmpty());
        program.ask(create(2, 4));
        program.hear(init(4));
        assertEquals(List.of("init 5 0"), heard);
    }

    @Test
    void aProgramSaysWhatItOffersWhere() {
        Host host = new AgentHost(List.of(
                AgentType.of("first", Listener::new), AgentType.of("second", Listener::new)));
        assertEquals("agent first, second ready at tcp://127.0.0.1:5757 as agent-1",
                Dovetail.ready(host, Broker.ADDRESS, "agent-1"));
    }

    @Test
    void failuresAreErrorsAndCostNothingElse() {
        seated();
        List<Map<String, Object>> answers = program.hear(start(8, 0, "crash"), start(9, 0, 0L));
        assertEquals("crashed", answers.get(0).get("code"));
        assertEquals("listener in turn 0 threw IllegalStateException: told to", answers.get(0).get("message"));
        assertEquals(8L, answers.get(0).get("episode"));
        assertEquals(0L, answers.get(0).get("seat"));
        assertEquals("action", answers.get(1).get("type"));
        assertEquals(answers.get(0), program.ask(start(8, 0, "crash")));
        Map<String, Object> strange = program.ask(step(9, 1, "strange"));
        assertEquals("crashed", strange.get("code"));
        assertTrue(strange.get("message").toString().startsWith("listener in turn 1 failed: "), strange::toString);
        assertEquals("action", program.ask(step(9, 2, 0L)).get("type"));
        assertEquals("listener in turn 3 threw NoClassDefFoundError: half a pair: ?",
                program.ask(step(9, 3, "link")).get("message"));
    }

    @Test
    void whatIsLargerThanTheBrokerReadsIsAnError() {
        seated();
        assertEquals("action", program.ask(start(8, 0, "large")).get("type"));
        program.hear(Wire.narrowed());
        Map<String, Object> action = program.ask(step(8, 1, "large"));
        assertEquals(8L, action.get("episode"));
        assertEquals(0L, action.get("seat"));
        assertTrue(action.get("message").toString().endsWith(" bytes in a message; the broker reads 500"));
        assertEquals(action, program.ask(step(8, 1, "large")));
        byte[] message = Wire.frame("message", "id", 4L, "instance", 3L, "body", "x".repeat(1000));
        Map<String, Object> reply = program.ask(message);
        assertEquals(4L, reply.get("id"));
        assertEquals("1024 bytes in a message; the broker reads 500", reply.get("message"));
        assertEquals(reply, program.ask(message));
        assertEquals(List.of("step 0", "step 1", "message"), heard);
        assertEquals("action", program.ask(step(8, 2, 0L)).get("type"));
    }

    @Test
    void aResumedSessionIsAsItWas() {
        seated();
        Map<String, Object> action = program.ask(start(8, 0, "draw"));
        program.hear(Wire.welcome(true));
        assertEquals(action, program.ask(start(8, 0, "draw")));
        assertEquals(List.of("step 0"), heard);
    }

    @Test
    void aLostSessionIsDropped() {
        seated();
        assertTrue(program.hear(start(8, 0, 0L), Wire.welcome(false)).isEmpty(), "an answer to the session before");
        assertEquals(List.of("step 0", "end disconnected", "cleanup"), heard);
        assertTrue(program.hear(step(8, 1, 0L), start(9, 0, 0L)).isEmpty());
        assertEquals("error", program.ask(Wire.frame("save", "id", 1L, "instance", 3L)).get("type"));
    }

    @Test
    void anAgentMayAskWhatWouldFollow() {
        seated();
        Map<String, Object> question = program.ask(start(8, 0, "ask"));
        assertEquals("lookahead", question.get("type"));
        assertEquals(List.of(List.of(List.of(0L)), List.of(List.of(1L))), question.get("lines"));
        assertEquals(question, program.ask(start(8, 0, "ask")));
        byte[] reply = Wire.frame("reply", "id", question.get("id"), "body",
                List.of(Wire.map("rewards", List.of(0L)), Wire.map("rewards", List.of(1.5))));
        assertEquals(1L, program.ask(reply).get("action"));
        assertTrue(program.hear(reply).isEmpty());
        assertEquals(List.of("step 0", "told 2"), heard);
    }

    @Test
    void aRefusedQuestionFailsTheDecision() {
        seated();
        Object id = program.ask(start(8, 0, "ask")).get("id");
        Map<String, Object> error =
                program.ask(Wire.frame("error", "code", "unavailable", "message", "not here", "id", id));
        assertEquals("crashed", error.get("code"));
        assertEquals("listener in turn 0 failed: not here", error.get("message"));
    }

    @Test
    void aSingleAgentNeedsNotBeMade() {
        Wire.Program alone = new Wire.Program(new AgentHost("me", new Listener()));
        assertEquals(true, alone.host.offers().get(0).instance());
        alone.hear(init(77));
        assertEquals("action", alone.ask(start(8, 0, 0L)).get("type"));
    }
}
