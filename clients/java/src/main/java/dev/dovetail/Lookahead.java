package dev.dovetail;

import dev.dovetail.Message.Preview;
import java.util.List;
import java.util.function.Function;

/**
 * A question to the environment in place of an action: which positions do these lines of actions lead to?
 *
 * <p>It needs a run that allows it; {@link Seat#lookahead} says so. The answer is an action or a further question.
 *
 * @param lines sequences of entries, each with one action for each seat to act, in their order
 * @param seed the seed of hidden information and chance; all lines share one sample
 * @param then given a position for each line, what to answer
 * @param otherwise given the reason why there is no answer, what to answer instead
 */
public record Lookahead(
        List<List<List<Object>>> lines,
        long seed,
        Function<List<Preview>, Object> then,
        Function<DovetailException, Object> otherwise) {
    /**
     * Asks for the positions after each of some actions of the one seat to act. Without an answer the decision fails.
     *
     * @param actions the actions
     * @param then given a position for each of them, what to answer
     * @return the question
     */
    public static Lookahead after(long[] actions, Function<List<Preview>, Object> then) {
        List<List<List<Object>>> lines = new java.util.ArrayList<>();
        for (long each : actions) {
            lines.add(List.of(List.of(each)));
        }
        return new Lookahead(lines, 0, then, error -> {
            throw error;
        });
    }
}
