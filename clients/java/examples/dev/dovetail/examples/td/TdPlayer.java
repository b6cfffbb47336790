package dev.dovetail.examples.td;

import dev.dovetail.Agent;
import dev.dovetail.AgentType;
import dev.dovetail.Decision;
import dev.dovetail.Dovetail;
import dev.dovetail.DovetailException;
import dev.dovetail.Message.End;
import dev.dovetail.Message.Mode;
import dev.dovetail.Message.Reason;
import dev.dovetail.Message.Want;
import dev.dovetail.Options;
import dev.dovetail.Seat;
import dev.dovetail.Space;
import dev.dovetail.Tensor;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Learns Connect Four by TD(lambda): the value of a position after an own move is the hyperbolic tangent of a sum of
 * weights, one for each pattern on a line.
 *
 * <p>At each own turn the position after the last own move learns from the best that can be reached now, and at the
 * end from the reward. A move that was drawn for exploration passes nothing back to what came before it. All random
 * choices come from the seeds of the episodes, so the state is the weights and nothing else.
 */
public final class TdPlayer implements Agent {
    /** Endings that say nothing about the position in which they came. */
    private static final Set<Reason> NO_RESULT = EnumSet.of(
            Reason.TRUNCATED, Reason.DISCONNECTED, Reason.CRASHED, Reason.CANCELLED, Reason.ENVIRONMENT_FAILED);

    private static final String MAGIC = "dovetail td-java 1";
    private static final int MOST_CONNECT = 5; // 4^n patterns for each line
    private static final Options OPTIONS = new Options()
            .number("learning_rate", 0.1, 0, 1, "Share of an error that one update mends.")
            .number("lambda", 0.5, 0, 1, "How much of an error the moves before take part in.")
            .number("epsilon", 0.1, 0, 1, "Share of random moves while learning.")
            .integer("connect", 4, 2, MOST_CONNECT, "How many in a row win.");

    private record Place(long episode, int seat) {}

    private final double rate;
    private final double lambda;
    private final double epsilon;
    private final int connect;
    /** Each seat's positions after its moves, of which the last waits for what it leads to. */
    private final Map<Place, List<int[]>> traces = new HashMap<>();
    private LinePatterns patterns;
    private double[] weights = {};
    private long games;
    private long updates;

    TdPlayer(Options.Values parameters) {
        rate = parameters.number("learning_rate");
        lambda = parameters.number("lambda");
        epsilon = parameters.number("epsilon");
        connect = (int) parameters.integer("connect");
    }

    /** {@return the type under which experiments make such players} */
    public static AgentType type() {
        return AgentType.of("td-java", OPTIONS, (parameters, seed) -> new TdPlayer(parameters))
                .described("Learns Connect Four by linear TD(lambda) over patterns on lines.")
                .wanting(Want.AFTERSTATES);
    }

    /**
     * Serves the player.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        Dovetail.main(type());
    }

    @Override
    public void init(Seat seat) {
        if (seat.spec().seats() != 2
                || !(seat.observationSpace() instanceof Space.Box box)
                || box.shape().length != 3
                || box.shape()[0] != 2
                || !box.dtype().equals("uint8")
                || !(seat.actionSpace() instanceof Space.Discrete actions)
                || actions.n() != box.shape()[2]) {
            throw new DovetailException("td-java plays Connect Four only: two seats, boards of uint8 in two planes");
        }
        int rows = (int) box.shape()[1];
        int columns = (int) box.shape()[2];
        if (patterns == null) {
            board(rows, columns);
            weights = new double[patterns.size()];
        } else if (patterns.rows != rows || patterns.columns != columns) {
            throw new DovetailException("this td-java has learnt on " + patterns.rows + " rows and "
                    + patterns.columns + " columns, not on " + rows + " and " + columns);
        }
    }

    private void board(int rows, int columns) {
        if (connect > Math.max(rows, columns)) {
            throw new DovetailException("agent td-java, option 'connect': " + connect + " in a row do not fit");
        }
        patterns = new LinePatterns(rows, columns, connect);
    }

    @Override
    public Object step(Decision decision) {
        long[] legal = decision.legal();
        if (legal == null) {
            throw new DovetailException("td-java needs the legal actions");
        }
        int[][] after = afterstates(decision);
        double best = Double.NEGATIVE_INFINITY;
        int count = 0;
        int choice = 0;
        for (int i = 0; i < legal.length; i++) {
            double value = value(after[i]);
            if (value > best) {
                best = value;
                count = 0;
            }
            // Of equal values each is as likely as the others.
            if (value == best && decision.random().nextInt(++count) == 0) {
                choice = i;
            }
        }
        if (decision.mode() == Mode.EVALUATE) {
            return legal[choice];
        }
        Place place = new Place(decision.episode(), decision.seat().seat());
        List<int[]> trace = traces.computeIfAbsent(place, each -> new ArrayList<>());
        learn(trace, decision.reward() + best);
        if (decision.random().nextDouble() < epsilon) {
            choice = decision.random().nextInt(legal.length);
            if (value(after[choice]) < best) {
                trace.clear(); // what comes now is not what the moves before were worth
            }
        }
        trace.add(after[choice]);
        return legal[choice];
    }

    /** The features after each legal move: from the environment if it added them, else by making the moves. */
    private int[][] afterstates(Decision decision) {
        long[] legal = decision.legal();
        int squares = patterns.rows * patterns.columns;
        int[][] after = new int[legal.length][];
        if (decision.afterstates() instanceof Tensor rows
                && rows.type() == Tensor.Type.UINT8
                && rows.size() == legal.length * 2 * squares) {
            for (int i = 0; i < legal.length; i++) {
                after[i] = patterns.of(rows.data(), i * 2 * squares);
            }
            return after;
        }
        if (!(decision.observation() instanceof Tensor seen) || seen.size() != 2 * squares) {
            throw new DovetailException("td-java cannot read this board");
        }
        byte[] planes = seen.data().clone();
        for (int i = 0; i < legal.length; i++) {
            int square = (int) legal[i];
            while (planes[square] != 0 || planes[squares + square] != 0) {
                square += patterns.columns;
            }
            planes[square] = 1;
            after[i] = patterns.of(planes, 0);
            planes[square] = 0;
        }
        return after;
    }

    private double value(int[] places) {
        double sum = 0;
        for (int each : places) {
            sum += weights[each];
        }
        return Math.tanh(sum);
    }

    /** Moves the values of a seat's positions towards what the last of them has led to. */
    private void learn(List<int[]> trace, double target) {
        int last = trace.size() - 1;
        if (last < 0) {
            return;
        }
        double error = target - value(trace.get(last));
        double share = rate * error / patterns.active();
        for (int i = last; i >= 0 && share != 0; i--) {
            int[] places = trace.get(i);
            double value = value(places);
            double step = share * (1 - value * value);
            for (int each : places) {
                weights[each] += step;
            }
            share *= lambda;
        }
        updates++;
    }

    @Override
    public void end(End end) {
        List<int[]> trace = traces.remove(new Place(end.episode(), end.seat()));
        if (trace != null && !NO_RESULT.contains(end.reason())) {
            learn(trace, end.reward());
            games++;
        }
    }

    /** Answers how much has been learnt, whatever the question. */
    @Override
    public Object message(Object body) {
        return Map.of("games", games, "updates", updates, "weights", (long) weights.length);
    }

    @Override
    public byte[] save() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(64 + 8 * weights.length);
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(MAGIC);
            out.writeInt(patterns == null ? 0 : patterns.rows);
            out.writeInt(patterns == null ? 0 : patterns.columns);
            out.writeInt(connect);
            out.writeLong(games);
            out.writeLong(updates);
            for (double each : weights) {
                out.writeDouble(each);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    /** Takes the weights; episodes in progress learn from their next decision on. */
    @Override
    public void load(byte[] state) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(state))) {
            if (!in.readUTF().equals(MAGIC)) {
                throw new IOException("another beginning");
            }
            int rows = in.readInt();
            int columns = in.readInt();
            int inARow = in.readInt();
            if (rows < 0 || rows > 20 || columns < 0 || columns > 20) {
                throw new IOException("no such board");
            }
            if (inARow != connect) {
                throw new DovetailException("this state is of a player with connect " + inARow + ", not " + connect);
            }
            long savedGames = in.readLong();
            long savedUpdates = in.readLong();
            LinePatterns found = rows == 0 ? null : new LinePatterns(rows, columns, connect);
            double[] read = new double[found == null ? 0 : found.size()];
            if (in.available() != 8 * read.length) {
                throw new IOException("another length");
            }
            for (int i = 0; i < read.length; i++) {
                read[i] = in.readDouble();
            }
            patterns = found;
            weights = read;
            games = savedGames;
            updates = savedUpdates;
            traces.clear();
        } catch (IOException error) {
            throw new DovetailException("these bytes are not a saved td-java");
        }
    }
}
