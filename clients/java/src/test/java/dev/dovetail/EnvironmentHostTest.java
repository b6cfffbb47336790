package dev.dovetail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Message.Preview;
import dev.dovetail.Message.Spec;
import dev.dovetail.Message.Turn;
import dev.dovetail.Message.View;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EnvironmentHostTest {
    private final Wire.Program program = new Wire.Program(new EnvironmentHost(List.of(Nim.type())));

    private byte[] open(long match, Map<String, Object> configuration) {
        return program.frame("open", "match", match, "environment", "nim", "configuration", configuration);
    }

    private byte[] start(long episode) {
        return program.frame("start", "match", 1L, "episode", episode, "seed", 0L);
    }

    private byte[] step(long episode, long turn, long seat, Object action) {
        return program.frame("step", "episode", episode, "turn", turn, "actions", List.of(List.of(seat, action)));
    }

    private Object steps(long id) {
        return program.ask(program.frame("message", "id", id, "match", 1L)).get("body");
    }

    @Test
    void anEpisodeGoesFromStartToEnd() {
        Map<String, Object> spec = program.ask(open(1, Map.of("heap", 3L)));
        assertEquals("nim", spec.get("name"));
        assertEquals(3L, spec.get("max_turns"));
        Map<String, Object> first = program.ask(start(7));
        assertEquals(List.of(0L), first.get("to_act"));
        assertEquals(0L, first.getOrDefault("turn", 0L));
        program.ask(step(7, 0, 0, 2L));
        Map<String, Object> last = program.ask(step(7, 1, 1, 1L));
        assertEquals(List.of(), last.getOrDefault("to_act", List.of()));
        assertEquals(2L, last.get("turn"));
        assertEquals(true, last.get("terminated"));
        assertEquals(List.of(0.0, 1.0), last.get("outcome"));
        assertEquals("unknown", program.ask(step(7, 2, 0, 1L)).get("code"));
    }

    @Test
    void aStepIsDoneOnce() {
        program.ask(open(1, Map.of()));
        byte[] start = start(7);
        assertEquals(program.ask(start), program.ask(start));
        byte[] step = step(7, 0, 0, 1L);
        Map<String, Object> turn = program.ask(step);
        assertEquals(turn, program.ask(step));
        assertEquals(1L, steps(1));
        program.ask(step(7, 1, 1, 1L));
        assertTrue(program.hear(step, start).isEmpty(), "what came after them says that the answers arrived");
        Map<String, Object> error = program.ask(step(7, 3, 0, 1L));
        assertEquals("unknown", error.get("code"));
        assertEquals(6L, error.get("answers"));
        assertEquals(2L, steps(2));
    }

    @Test
    void anOpenIsDoneOnce() {
        byte[] open = open(1, Map.of());
        assertEquals(program.ask(open), program.ask(open));
        Map<String, Object> error = program.ask(open(2, Map.of("heap", 0L)));
        assertEquals("unavailable", error.get("code"));
        assertEquals(2L, error.get("answers"));
    }

    @Test
    void anotherEpisodeDropsTheOldOne() {
        program.ask(open(1, Map.of()));
        program.ask(start(7));
        program.ask(start(8));
        assertEquals("unknown", program.ask(step(7, 0, 0, 1L)).get("code"));
        assertEquals("turn", program.ask(step(8, 0, 0, 1L)).get("type"));
    }

    @Test
    void whatTheRulesRefuseIsAnErrorAfterWhichTheTurnIsAsBefore() {
        program.ask(open(1, Map.of()));
        program.ask(start(7));
        byte[] step = step(7, 0, 0, 3L);
        Map<String, Object> error = program.ask(step);
        assertEquals("illegal", error.get("code"));
        assertEquals(0L, error.get("seat"));
        assertEquals(3L, error.get("answers"));
        assertEquals(error, program.ask(step));
        assertEquals(1L, steps(1));
        assertEquals("turn", program.ask(step(7, 0, 0, 1L)).get("type"));
    }

    @Test
    void seatsAndWatchersGetTextIfTheyWantIt() {
        program.ask(open(1, Map.of()));
        Map<String, Object> turn = program.ask(program.frame("start", "match", 1L, "episode", 7L, "seed", 0L,
                "wants", List.of(List.of("text"), List.of()), "watched", true));
        assertEquals("5 left", turn.get("text"));
        assertEquals("5 left", ((Map<?, ?>) ((List<?>) turn.get("seats")).get(0)).get("text"));
        turn = program.ask(step(7, 0, 0, 1L));
        assertNull(((Map<?, ?>) ((List<?>) turn.get("seats")).get(0)).get("text"));
    }

    @Test
    void lookaheadChangesNothing() {
        program.ask(open(1, Map.of("heap", 3L)));
        program.ask(start(7));
        List<?> lines = List.of(
                List.of(List.of(1L)),
                List.of(List.of(1L), List.of(2L)),
                List.of(List.of(2L), List.of(2L)),
                List.of(List.of(1L), List.of(2L), List.of(1L)));
        byte[] ask = program.frame("lookahead", "id", 1L, "episode", 7L, "seat", 0L, "turn", 0L, "lines", lines);
        Map<String, Object> reply = program.ask(ask);
        assertEquals(reply, program.ask(ask));
        List<Preview> positions = ((List<?>) reply.get("body")).stream().map(Preview::read).toList();
        assertEquals(1, positions.get(0).toAct()[0]);
        assertEquals(-1, positions.get(1).rewards()[0]);
        assertTrue(positions.get(1).terminated());
        assertEquals("2 cannot be taken", positions.get(2).error());
        assertEquals(1, positions.get(2).applied());
        assertEquals("the episode would be over", positions.get(3).error());
        assertEquals("turn", program.ask(step(7, 0, 0, 1L)).get("type"));
        assertEquals("error", program.ask(program.frame("lookahead", "id", 2L, "episode", 7L, "seat", 0L, "turn", 0L,
                "lines", lines)).get("type"));
    }

    @Test
    void aLostSessionClosesTheMatches() {
        program.ask(open(1, Map.of()));
        program.ask(start(7));
        program.hear(Wire.welcome(true));
        assertEquals("turn", program.ask(step(7, 0, 0, 1L)).get("type"));
        program.hear(Wire.welcome(false));
        assertEquals("unknown", program.ask(step(7, 1, 1, 1L)).get("code"));
        assertEquals("unknown", program.ask(start(7)).get("code"));
    }

    /** A game of one seat that does what its action says. */
    private static final class Obedient implements Environment {
        private final List<String> heard;
        private final Spec spec;

        Obedient(List<String> heard, Spec spec) {
            this.heard = heard;
            this.spec = spec;
        }

        @Override
        public Spec init() {
            return spec;
        }

        @Override
        public Turn start(long seed) {
            return TurnFactory.ask(0, View.of(0));
        }

        @Override
        public Turn step(JointAction actions) {
            heard.add("step");
            Object action = actions.all().get(0).value();
            if (action.equals("crash")) {
                throw new IllegalStateException("told to");
            }
            return TurnFactory.ask(0, View.of(0).withObservation(action.equals("strange") ? new Object() : action));
        }

        @Override
        public Environment fork(int seat, long seed) {
            heard.add("fork");
            return this;
        }

        @Override
        public void cleanup() {
            heard.add("cleanup");
        }
    }

    private static Wire.Program obedient(List<String> heard, Spec spec) {
        return new Wire.Program(new EnvironmentHost(
                List.of(EnvironmentType.of("obedient", new Options(), given -> new Obedient(heard, spec)))));
    }

    @Test
    void anEnvironmentThatCannotBeOpenedIsCleanedUp() {
        for (Spec spec : new Spec[] {null, Spec.of().withName("x".repeat(1000))}) {
            List<String> heard = new ArrayList<>();
            Wire.Program program = obedient(heard, spec);
            program.hear(Wire.narrowed());
            byte[] open = program.frame("open", "match", 1L, "environment", "obedient");
            Map<String, Object> error = program.ask(open);
            assertEquals("crashed", error.get("code"));
            assertEquals(error, program.ask(open));
            assertTrue(program.hear(program.frame("close", "match", 1L)).isEmpty());
            assertEquals(List.of("cleanup"), heard);
        }
    }

    @Test
    void whatFailsInAStepOrCannotTravelEndsTheEpisode() {
        for (String failing : List.of("crash", "strange")) {
            List<String> heard = new ArrayList<>();
            Wire.Program program = obedient(heard, Spec.of());
            program.ask(program.frame("open", "match", 1L, "environment", "obedient"));
            program.ask(program.frame("start", "match", 1L, "episode", 7L, "seed", 0L));
            List<?> actions = List.of(List.of(0L, failing));
            byte[] step = program.frame("step", "episode", 7L, "turn", 0L, "actions", actions);
            Map<String, Object> error = program.ask(step);
            assertEquals("crashed", error.get("code"));
            assertEquals(error, program.ask(step));
            for (long turn = 0; turn < 2; turn++) {
                assertEquals("unknown", program.ask(program.frame(
                        "step", "episode", 7L, "turn", turn, "actions", List.of(List.of(0L, "on")))).get("code"));
                assertEquals("error", program.ask(program.frame("lookahead", "id", turn + 1, "episode", 7L,
                        "seat", 0L, "turn", turn, "lines", List.of(List.of(List.of("on"))))).get("type"));
            }
            assertEquals(List.of("step"), heard, "the rules are not asked again");
            byte[] next = program.frame("start", "match", 1L, "episode", 8L, "seed", 0L);
            assertEquals("turn", program.ask(next).get("type"));
        }
    }
}
