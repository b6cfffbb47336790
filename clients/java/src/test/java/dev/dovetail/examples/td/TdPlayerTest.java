package dev.dovetail.examples.td;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.dovetail.Agent;
import dev.dovetail.Arena;
import dev.dovetail.ConnectFour;
import dev.dovetail.DovetailException;
import dev.dovetail.Message.Mode;
import dev.dovetail.Message.Spec;
import dev.dovetail.Seat;
import dev.dovetail.Space;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TdPlayerTest {
    private static Agent player() {
        return TdPlayer.type().factory().make(TdPlayer.type().options().read(Map.of(), "td-java"), 0);
    }

    private final Arena arena = new Arena(new ConnectFour(), true);

    private void train(Agent agent, int from, int to) {
        for (int game = from; game < to; game++) {
            arena.play(agent, agent, 1000 + game, Mode.LEARN);
        }
    }

    private double score(Agent agent, Agent other, int games) {
        double score = 0;
        for (int game = 0; game < games; game++) {
            int seat = game & 1;
            Agent first = seat == 0 ? agent : other;
            Agent second = seat == 0 ? other : agent;
            score += arena.play(first, second, 77_000 + game, Mode.EVALUATE)[seat];
        }
        return score / games;
    }

    @Test
    void itBeatsItsUntrainedSelf() {
        Agent agent = player();
        train(agent, 0, 400);
        double score = score(agent, player(), 200);
        assertTrue(score > 0.85, "won " + score + " of the games");
    }

    @Test
    void equalSeedsMakeEqualPlayers() {
        Agent one = player();
        Agent other = player();
        train(one, 0, 50);
        train(other, 0, 50);
        assertArrayEquals(one.save(), other.save());
    }

    @Test
    void aSavedPlayerGoesOnBitForBit() {
        Agent whole = player();
        train(whole, 0, 60);
        Agent half = player();
        train(half, 0, 30);
        Agent loaded = player();
        loaded.load(half.save());
        train(loaded, 30, 60);
        assertArrayEquals(whole.save(), loaded.save());
    }

    @Test
    void evaluationChangesNothing() {
        Agent agent = player();
        train(agent, 0, 20);
        byte[] before = agent.save();
        score(agent, agent, 20);
        assertArrayEquals(before, agent.save());
    }

    @Test
    void itMakesTheMovesItselfIfNobodyElseDoes() {
        Agent told = player();
        train(told, 0, 30);
        Agent alone = player();
        Arena plain = new Arena(new ConnectFour(), false);
        for (int game = 0; game < 30; game++) {
            plain.play(alone, alone, 1000 + game, Mode.LEARN);
        }
        assertArrayEquals(told.save(), alone.save());
    }

    @Test
    void aBoardAndItsMirrorImageHaveOneValue() {
        LinePatterns patterns = new LinePatterns(6, 7, 4);
        assertEquals(2 * 69, patterns.active());
        byte[] left = new byte[84];
        byte[] right = new byte[84];
        int[][] discs = {{0, 0}, {0, 1}, {1, 1}};
        for (int[] each : discs) {
            left[each[0] * 7 + each[1]] = 1;
            right[each[0] * 7 + 6 - each[1]] = 1;
        }
        double[] weights = new java.util.SplittableRandom(3).doubles(patterns.size()).toArray();
        double one = 0;
        double other = 0;

        int[] first = patterns.of(left, 0);
        int[] second = patterns.of(right, 0);
        for (int i = 0; i < first.length; i++) {
            one += weights[first[i]];
            other += weights[second[i]];
        }
        assertEquals(one, other, 1e-9);
    }

    @Test
    void itRefusesOtherGamesAndForeignStates() {
        Spec nim = Spec.of()
                .withSeats(2)
                .withObservationSpaces(List.of(Space.Discrete.of(9)))
                .withActionSpaces(List.of(Space.Discrete.of(3)));
        assertThrows(DovetailException.class, () -> player().init(new Seat(1, 0, nim, false)));
        assertThrows(DovetailException.class, () -> player().load(new byte[] {1, 2, 3}));
        byte[] cut = player().save();
        assertThrows(DovetailException.class, () -> player().load(java.util.Arrays.copyOf(cut, cut.length - 1)));
    }
}
