package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.End;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A message that comes twice is answered twice and acted on once. */
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
        public byte[] save() {
            return new byte[0];
        }

        @Override
        public void load(byte[] state) {
            throw new IllegalStateException("not mine");
        }

        @Override
        public void end(End end) {
            heard.add("end " + end.reason().toWire());
            if ("crash".equals(end.observation())) {
                throw new IllegalStateException("told to");
            }
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

    private byte[] start(long episode, long turn, Object observation) {
        return program.frame("start", "episode", episode, "match", 5L, "seat", 0L, "turn", turn, "seed", 9L,
                "observation", observation, "legal", List.of(0L, 1L));
    }

    private byte[] step(long episode, long turn, Object observation) {
        return program.frame("step", "episode", episode, "seat", 0L, "turn", turn,
                "observation", observation, "legal", List.of(0L, 1L));
    }

    private byte[] init(long instance) {
        Map<String, Object> spec = Wire.map("seats", 1L, "action_spaces", List.of(Space.Discrete.of(2)));
        return program.frame("init", "match", 5L, "seat", 0L, "instance", instance, "spec", spec);
    }

    private void seated() {
        assertEquals("reply", program.ask(create(1, 3)).get("type"));
        assertTrue(program.hear(init(3)).isEmpty());
        heard.clear();
    }

    private byte[] create(long id, long instance) {
        return program.frame("create", "id", id, "instance", instance, "agent", "listener");
    }

    @Test
    void aDecisionIsMadeOnce() {
        seated();
        byte[] start = start(8, 0, 0L);
        Map<String, Object> first = program.ask(start);
        assertEquals(Wire.map("type", "action", "episode", 8L, "turn", 0L, "seat", 0L, "action", 0L), first);
        assertEquals(first, program.ask(start));
        byte[] step = step(8, 4, "draw");
        Map<String, Object> second = program.ask(step);
        assertEquals(second, program.ask(step));
        assertTrue(program.hear(start).isEmpty(), "what came after it says that the answer arrived");
        assertTrue(program.hear(Wire.frame("ping", "settled", 99L)).stream()
                .allMatch(each -> each.get("type").equals("pong")));
        assertTrue(program.hear(step).isEmpty(), "the broker says that it needs the answer no longer");
        assertEquals(List.of("step 0", "step 4"), heard);
    }

    @Test
    void anEndIsHeardOnce() {
        seated();
        byte[] start = start(8, 0, 0L);
        byte[] end = program.frame("end", "episode", 8L, "seat", 0L, "match", 5L);
        program.hear(start, end, end);
        assertEquals(List.of("step 0", "end terminated"), heard);
    }

    @Test
    void anEndWithoutADecisionIsHeard() {
        seated();
        program.hear(program.frame("end", "episode", 8L, "seat", 0L, "match", 5L, "reason", "truncated"));
        assertEquals(List.of("end truncated"), heard);
    }

    @Test
    void aDecisionOfAnUnknownSeatIsRefused() {
        seated();
        Map<String, Object> error = program.ask(step(8, 0, 0L));
        assertEquals("unknown", error.get("code"));
        assertEquals(3L, error.get("answers"));
        assertEquals("no agent here holds seat 0 of episode 8", error.get("message"));
    }

    @Test
    void requestsAreDoneOnce() {
        seated();
        byte[] message = program.frame("message", "id", 4L, "instance", 3L, "body", List.of(1L, "two"));
        Map<String, Object> reply = program.ask(message);
        assertEquals(List.of(1L, "two"), reply.get("body"));
        assertEquals(reply, program.ask(message));
        assertEquals(List.of("message"), heard);
    }

    @Test
    void anInitIsHeardOnceAndASeatChangesHands() {
        seated();
        program.ask(create(2, 4));
        byte[] init = init(4);
        program.hear(init, init);
        assertEquals(List.of("init 5 0"), heard);
        Map<String, Object> error = program.ask(init(77));
        assertEquals("unknown", error.get("code"));
        assertEquals(5L, error.get("answers"));
        assertEquals("unknown", program.ask(start(8, 0, 0L)).get("code"), "the seat is not taken");
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
        byte[] start = start(8, 0, "crash");
        List<Map<String, Object>> answers = program.hear(start, start(9, 0, 0L));
        assertEquals("crashed", answers.get(0).get("code"));
        assertEquals("listener in turn 0 threw IllegalStateException: told to", answers.get(0).get("message"));
        assertEquals(3L, answers.get(0).get("answers"));
        assertEquals("action", answers.get(1).get("type"));
        assertEquals(answers.get(0), program.ask(start));
        Map<String, Object> strange = program.ask(step(9, 1, "strange"));
        assertEquals("crashed", strange.get("code"));
        assertTrue(strange.get("message").toString().startsWith("listener in turn 1 failed: "), strange::toString);
        assertEquals("action", program.ask(step(9, 2, 0L)).get("type"));
        assertEquals("listener in turn 3 threw NoClassDefFoundError: half a pair: ?",
                program.ask(step(9, 3, "link")).get("message"));
    }

    /** Checks that a frame is answered once with how an end failed, which nothing answers. */
    private void tellsOfAnEnd(byte[] end, byte[] frame) {
        assertTrue(program.hear(end).isEmpty());
        Map<String, Object> error = program.ask(frame);
        assertEquals("crashed", error.get("code"));
        assertEquals("listener at the end of an episode threw IllegalStateException: told to", error.get("message"));
        assertEquals(error, program.ask(frame));
    }

    private byte[] crashingEnd() {
        return program.frame("end", "episode", 8L, "seat", 0L, "match", 5L, "observation", "crash");
    }

    private byte[] request(String type) {
        return program.frame(type, "id", 9L, "instance", 3L, "state", new byte[0]);
    }

    @Test
    void theNextDecisionOrRequestTellsOfAnEndThatFailed() {
        seated();
        tellsOfAnEnd(crashingEnd(), start(8, 0, 0L));
        assertEquals("action", program.ask(step(8, 1, 0L)).get("type"));
        for (String type : List.of("save", "load", "message", "cleanup")) {
            tellsOfAnEnd(crashingEnd(), request(type));
            if (type.equals("save")) {
                assertEquals("saved", program.ask(request(type)).get("type"));
            }
        }
        String end = "end terminated";
        assertEquals(List.of(end, "step 1", end, end, end, end, "cleanup"), heard);
        assertEquals("unavailable", program.ask(request("save")).get("code"), "it is gone");
    }

    @Test
    void anAgentWhoseStateCannotBeLoadedIsCleanedUp() {
        Map<String, Object> error = program.ask(program.frame(
                "create", "id", 1L, "instance", 3L, "agent", "listener", "state", new byte[] {1}));
        assertEquals("listener in create threw IllegalStateException: not mine", error.get("message"));
        assertEquals(List.of("cleanup"), heard);
        assertEquals("unknown", program.ask(init(3)).get("code"));
    }

    @Test
    void whatIsLargerThanTheBrokerReadsIsAnError() {
        seated();
        assertEquals("action", program.ask(start(8, 0, "large")).get("type"));
        program.hear(Wire.narrowed());
        byte[] step = step(8, 1, "large");
        Map<String, Object> action = program.ask(step);
        assertEquals(4L, action.get("answers"));
        assertTrue(action.get("message").toString().endsWith(" bytes in a message; the broker reads 500"));
        assertEquals(action, program.ask(step));
        byte[] message = program.frame("message", "id", 4L, "instance", 3L, "body", "x".repeat(1000));
        Map<String, Object> reply = program.ask(message);
        assertEquals(4L, reply.get("id"));
        assertEquals("listener in message failed: 1024 bytes in a message; the broker reads 500", reply.get("message"));
        assertEquals(reply, program.ask(message));
        assertEquals(List.of("step 0", "step 1", "message"), heard);
        assertEquals("action", program.ask(step(8, 2, 0L)).get("type"));
    }

    @Test
    void aResumedSessionIsAsItWas() {
        seated();
        byte[] start = start(8, 0, "draw");
        Map<String, Object> action = program.ask(start);
        program.hear(Wire.welcome(true));
        assertEquals(action, program.ask(start));
        assertEquals(List.of("step 0"), heard);
    }

    @Test
    void aLostSessionIsDropped() {
        seated();
        assertTrue(program.hear(start(8, 0, 0L), Wire.welcome(false)).isEmpty(), "an answer to the session before");
        assertEquals(List.of("step 0", "end disconnected", "cleanup"), heard);
        assertEquals("unknown", program.ask(Wire.frame("step", "seq", 1L, "episode", 8L, "seat", 0L, "turn", 1L,
                "legal", List.of(0L))).get("code"), "numbers begin again");
        assertEquals("error", program.ask(program.frame("save", "id", 1L, "instance", 3L)).get("type"));
    }

    @Test
    void anAgentMayAskWhatWouldFollow() {
        seated();
        byte[] start = start(8, 0, "ask");
        Map<String, Object> question = program.ask(start);
        assertEquals("lookahead", question.get("type"));
        assertEquals(List.of(List.of(List.of(0L)), List.of(List.of(1L))), question.get("lines"));
        assertTrue(program.hear(start).isEmpty(), "it is not answered yet");
        assertEquals(question, program.ask(Wire.welcome(true)), "a request is sent again");
        byte[] reply = program.frame("reply", "id", question.get("id"), "body",
                List.of(Wire.map("rewards", List.of(0L)), Wire.map("rewards", List.of(1.5))));
        assertEquals(1L, program.ask(reply).get("action"));
        assertTrue(program.hear(reply).isEmpty());
        assertEquals(1L, program.ask(start).get("action"));
        assertEquals(List.of("step 0", "told 2"), heard);
        assertTrue(program.hear(Wire.welcome(true)).isEmpty());
    }

    @Test
    void aRefusedQuestionFailsTheDecision() {
        seated();
        Object id = program.ask(start(8, 0, "ask")).get("id");
        Map<String, Object> error =
                program.ask(program.frame("error", "code", "unavailable", "message", "not here", "id", id));
        assertEquals("crashed", error.get("code"));
        assertEquals("listener in turn 0 failed: not here", error.get("message"));
    }

    @Test
    void aSingleAgentNeedsNotBeMade() {
        Wire.Program alone = new Wire.Program(new AgentHost("me", new Listener()));
        assertEquals(true, alone.host.offers().get(0).instance());
        alone.hear(init(77));
        assertEquals("action", alone.ask(start(8, 0, 0L)).get("type"));
        alone.host.leave();
        assertEquals(List.of("init 5 0", "step 0", "end disconnected", "cleanup"), heard);
    }
}
